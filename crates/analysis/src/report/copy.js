"use strict";
// A button that selects the block of Markdown and has the browser copy it. The text of the run
// stays in the page: no value of this script holds it.
(function () {
  document.querySelectorAll("details.ticket").forEach(function (holder) {
    var block = holder.querySelector("pre");
    var button = document.createElement("button");
    var said = document.createElement("output");
    button.type = "button";
    button.textContent = "Copy as Markdown";
    button.addEventListener("click", function () {
      holder.open = true;
      window.getSelection().selectAllChildren(block);
      var done = document.execCommand("copy");
      said.textContent = done ? "copied" : "selected: copy it with Ctrl+C or \u2318C";
      if (done) {
        window.getSelection().removeAllRanges();
        holder.open = false;
      }
    });
    holder.classList.add("live");
    holder.parentNode.insertBefore(button, holder);
    holder.parentNode.insertBefore(said, holder);
  });
}());
