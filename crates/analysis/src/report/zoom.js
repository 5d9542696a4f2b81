"use strict";
// Zooming of the series: the same drawing, redrawn from the page's own numbers.
(function () {
  var NS = "http://www.w3.org/2000/svg";
  function plain(v) { return v >= 100 ? String(Math.round(v)) : String(+v.toPrecision(3)); }
  function seconds(v) { return v >= 1e4 ? plain(v / 1e3) + "k" : String(+v.toPrecision(6)); }
  function latency(ns) {
    return ns < 1e3 ? plain(ns) + " ns" : ns < 1e6 ? plain(ns / 1e3) + " µs" :
      ns < 1e9 ? plain(ns / 1e6) + " ms" : plain(ns / 1e9) + " s";
  }
  function step(span) {
    var d = Math.pow(10, Math.floor(Math.log10(span / 6))), s = span / 6 / d;
    return d * (s <= 1 ? 1 : s <= 2 ? 2 : s <= 5 ? 5 : 10);
  }
  function set(node, values) {
    Object.keys(values).forEach(function (k) { node.setAttribute(k, values[k]); });
    return node;
  }
  function zoomable(holder) {
    var data = JSON.parse(holder.textContent);
    var figure = document.getElementById(holder.getAttribute("data-for"));
    var svg = figure && figure.querySelector("svg");
    if (!svg) { return; }
    var left = data.x[0], right = data.x[1], first = data.x[2], last = data.x[3];
    var bottom = data.y[0], top = data.y[1], low = data.y[2], high = data.y[3], log = data.y[4];
    var at = [], sum = 0;
    data.t.forEach(function (d) { sum += d; at.push(sum / 1000); });
    var paths = Array.prototype.slice.call(svg.querySelectorAll("path.ln"));
    var names = Array.prototype.slice.call(svg.querySelectorAll("text.lb"));
    var original = paths.map(function (p) { return p.getAttribute("d"); });
    var from = first, to = last;
    var pan = figure.querySelector(".pan");
    var bar = document.createElement("div");
    bar.className = "zoombar";
    var said = document.createElement("output");
    function px(t) { return left + (t - from) / (to - from) * (right - left); }
    function py(v) {
      var p = ((log ? Math.log10(v) : v) - low) / (high - low);
      return bottom + Math.min(1, Math.max(0, p)) * (top - bottom);
    }
    // Of the points on one pixel the highest is drawn: no peak is lost.
    function line(values) {
      var d = "", down = false, column = -1, best = 0, x = 0, y;
      function put() {
        if (column < 0 || !best) { return; }
        y = py(best);
        d += (down ? "L" : "M") + x.toFixed(1) + " " + y.toFixed(1) + (down ? "" : "h0");
        down = true;
      }
      for (var i = 0; i < at.length; i++) {
        if (at[i] < from || at[i] > to) { continue; }
        var p = px(at[i]), c = Math.floor(p);
        if (c !== column || !values[i]) { put(); best = 0; column = c; }
        if (!values[i]) { down = false; column = -1; continue; }
        if (values[i] > best) { best = values[i]; x = p; }
      }
      put();
      return d;
    }
    var ticks = document.createElementNS(NS, "g");
    var hair = set(document.createElementNS(NS, "line"), { "class": "hair", y1: top, y2: bottom });
    function axis(whole) {
      svg.querySelectorAll(".xt,.mark,.mt,.rug").forEach(function (n) {
        n.classList.toggle("off", !whole);
      });
      while (ticks.firstChild) { ticks.removeChild(ticks.firstChild); }
      if (whole) { return; }
      var s = step(to - from);
      for (var t = Math.ceil(from / s) * s; t <= to; t += s) {
        var x = px(t).toFixed(1);
        ticks.appendChild(set(document.createElementNS(NS, "line"),
          { "class": "axis", x1: x, x2: x, y1: bottom, y2: bottom + 4 }));
        var word = set(document.createElementNS(NS, "text"),
          { "class": "tk", x: x, y: bottom + 16, "text-anchor": "middle" });
        word.textContent = seconds(t);
        ticks.appendChild(word);
      }
      data.m.forEach(function (m) {
        if (m <= from || m >= to) { return; }
        ticks.appendChild(set(document.createElementNS(NS, "line"),
          { "class": "mark", x1: px(m), x2: px(m), y1: top, y2: bottom }));
      });
    }
    function draw() {
      var whole = from <= first && to >= last;
      paths.forEach(function (p, i) {
        if (data.v[i]) { p.setAttribute("d", whole ? original[i] : line(data.v[i])); }
      });
      axis(whole);
      hair.classList.add("off");
      said.textContent = whole ? "" : "seconds " + seconds(from) + " to " + seconds(to);
    }
    function show(a, b) {
      var least = Math.min(last - first, 10);
      if (b - a < least) { var m = (a + b) / 2; a = m - least / 2; b = m + least / 2; }
      if (a < first) { b += first - a; a = first; }
      if (b > last) { a -= b - last; b = last; }
      from = Math.max(first, a); to = Math.min(last, b);
      draw();
    }
    function scale(factor, around) {
      var m = around === undefined ? (from + to) / 2 : around;
      show(m - (m - from) * factor, m + (to - m) * factor);
    }
    function move(part) { var d = (to - from) * part; show(from + d, to + d); }
    function whole() { show(first, last); }
    function point(event) {
      var box = svg.getBoundingClientRect();
      var x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
      return from + (Math.min(right, Math.max(left, x)) - left) / (right - left) * (to - from);
    }
    function read(t) {
      var best = 0;
      for (var i = 1; i < at.length; i++) {
        if (Math.abs(at[i] - t) < Math.abs(at[best] - t)) { best = i; }
      }
      var parts = data.v.map(function (v, i) {
        var name = names[i] ? names[i].textContent + " " : "";
        return name + (!v[best] ? "–" : log ? latency(v[best]) : plain(v[best]));
      });
      var x = px(at[best]);
      set(hair, { x1: x, x2: x });
      hair.classList.toggle("off", x < left || x > right);
      said.textContent = "second " + seconds(at[best]) + ": " + parts.join(", ");
    }
    [["+", "Zoom in", function () { scale(0.5); }], ["−", "Zoom out", function () { scale(2); }],
      ["◀", "Earlier", function () { move(-0.5); }], ["▶", "Later", function () { move(0.5); }],
      ["whole", "Show the whole series", whole]].forEach(function (b) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = b[0];
      button.setAttribute("aria-label", b[1]);
      button.addEventListener("click", b[2]);
      bar.appendChild(button);
    });
    bar.appendChild(said);
    figure.insertBefore(bar, pan);
    svg.appendChild(ticks);
    svg.appendChild(hair);
    hair.classList.add("off");
    var keys = { "+": function () { scale(0.5); }, "=": function () { scale(0.5); },
      "-": function () { scale(2); }, ArrowLeft: function () { move(-0.25); },
      ArrowRight: function () { move(0.25); }, Home: whole, "0": whole };
    pan.addEventListener("keydown", function (e) {
      if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) { return; }
      keys[e.key]();
      e.preventDefault();
    });
    var began = null;
    svg.addEventListener("pointerdown", function (e) { if (e.button === 0) { began = point(e); } });
    svg.addEventListener("pointermove", function (e) { read(point(e)); });
    svg.addEventListener("pointerup", function (e) {
      if (began === null) { return; }
      var end = point(e), a = Math.min(began, end), b = Math.max(began, end);
      began = null;
      if (b - a > (to - from) / 100) { show(a, b); }
    });
    svg.addEventListener("dblclick", whole);
    figure.classList.add("live");
  }
  document.querySelectorAll("script.zd").forEach(zoomable);
}());
