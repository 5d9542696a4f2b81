//! Learning on models of a load: what is taken, how soon, and what a trial may cost.

use super::*;

/// A log on which a log write takes `ns` in each way: post/wait, polling, inline.
struct Model {
    learner: Learner,
    now: u64,
    way: CommitWay,
    /// What the device takes of a log write's time.
    device: Nanos,
}

impl Model {
    /// Of a log writer that does not change: two ways.
    fn new() -> Model {
        Model::of(Learner::new(Some(false), LogFileSync::Adaptive, true))
    }

    /// Of one that does: three.
    fn auto() -> Model {
        Model::of(Learner::new(None, LogFileSync::Adaptive, true))
    }

    fn of(learner: Learner) -> Model {
        Model {
            way: learner.learned().way,
            learner,
            now: 1,
            device: Nanos::from_micros(60),
        }
    }

    fn writes(&mut self, n: u64, ns: [u64; 3], commits: u64) {
        for _ in 0..n {
            self.now += match self.way.name() {
                "post-wait" => ns[0],
                "polling" => ns[1],
                _ => ns[2],
            };
            let (now, device) = (Nanos(self.now), self.device);
            self.way = self.learner.published(now, device, commits, 0);
        }
    }

    /// As many as fit in so many milliseconds.
    fn millis(&mut self, millis: u64, ns: [u64; 3], commits: u64) {
        let until = self.now + millis * 1_000_000;
        while self.now < until {
            self.writes(1, ns, commits);
        }
    }

    fn learned(&self) -> &Learned {
        self.learner.learned()
    }

    fn home(&self) -> &'static str {
        self.learner.ways[self.learner.home].name()
    }
}

#[test]
fn the_better_way_is_taken_and_left_when_it_is_worse() {
    let mut model = Model::new();
    model.writes(10_000, [100_000, 80_000, 0], 8);
    assert_eq!(model.learned().switches, 1, "{:?}", model.learned());
    assert_eq!(model.home(), "polling");
    let first = model.learned().recent[0];
    assert!(first.to.polling && first.taken_per_s > first.left_per_s * 1.2);
    let polled = model.learned().polled;
    assert!(polled > model.learned().commits / 2, "{polled} polled");
    model.writes(300_000, [100_000, 200_000, 0], 8);
    assert_eq!(model.learned().switches, 2, "{:?}", model.learned());
    assert_eq!(model.home(), "post-wait");
    assert_eq!(model.learned().recent[1].to, CommitWay::default());
}

#[test]
fn several_sessions_have_the_best_way_within_50_ms() {
    for (ns, best) in [
        ([150_000, 110_000, 150_000], "polling"),
        ([150_000, 1_500_000, 300_000], "post-wait"),
    ] {
        let mut model = Model::auto();
        model.millis(50, ns, 8);
        assert_eq!(model.home(), best, "{:?}", model.learned());
    }
    // A gain that is not clear, and another log writer, are looked at twice.
    let mut model = Model::auto();
    model.millis(150, [150_000, 1_500_000, 100_000], 8);
    assert_eq!(model.home(), "inline", "{:?}", model.learned());
}

#[test]
fn polling_that_gains_little_is_not_worth_its_processor_time() {
    let mut model = Model::new();
    model.writes(100_000, [100_000, 97_000, 0], 8);
    assert_eq!(model.learned().switches, 0);
    // Nor is it kept when its gain has gone.
    model.writes(100_000, [100_000, 50_000, 0], 8);
    assert_eq!(model.learned().switches, 1);
    model.writes(400_000, [100_000, 100_000, 0], 8);
    assert_eq!(model.learned().switches, 2);
}

#[test]
fn other_work_ends_polling_at_once_and_its_end_brings_it_back() {
    let (quiet, loaded) = ([150_000, 110_000, 150_000], [300_000, 3_000_000, 300_000]);
    let mut model = Model::auto();
    model.millis(2_000, quiet, 8);
    assert_eq!(model.home(), "polling");
    model.millis(150, loaded, 8);
    assert_ne!(model.home(), "polling", "{:?}", model.learned());
    model.millis(4_000, loaded, 8);
    let polled = model.learned().polled;
    model.millis(2_000, loaded, 8);
    let (more, all) = (model.learned().polled - polled, 2_000 * 8 / 3 * 10);
    assert!(
        more * 100 < all * 3,
        "{more} of about {all} commits were trials"
    );
    model.millis(1_000, quiet, 8);
    assert_eq!(model.home(), "polling", "{:?}", model.learned());
}

#[test]
fn trials_in_vain_become_rare() {
    let mut model = Model::new();
    model.writes(1_000_000, [50_000, 500_000, 0], 4);
    let learned = model.learned();
    assert_eq!(learned.switches, 0);
    assert!((5..30).contains(&learned.trials), "{learned:?}");
    assert!(learned.broken_off > learned.trials / 2, "{learned:?}");
    let share = learned.polled as f64 / learned.commits as f64;
    assert!(share < 0.01, "{share} of the commits were experiments");
}

/// The load doubles while the other way is tried: the second window at home shows it.
#[test]
fn a_load_that_changes_is_no_evidence() {
    let mut model = Model::new();
    let mut guard = 0;
    while model.learner.phase != Phase::Trial {
        model.writes(1, [400_000, 400_000, 0], 8);
        guard += 1;
        assert!(guard < 100_000, "a trial comes");
    }
    model.writes(2_000, [400_000, 400_000, 0], 16);
    assert_eq!(model.learned().switches, 0, "{:?}", model.learned());
}

/// A way that is good for as long as a trial takes, and bad after.
#[test]
fn a_way_that_flatters_is_avoided_for_longer_each_time() {
    let mut model = Model::auto();
    let mut inline_for = 0;
    for _ in 0..400_000 {
        inline_for = if model.way.inline { inline_for + 1 } else { 0 };
        let inline = if inline_for < 800 { 100_000 } else { 400_000 };
        model.writes(1, [150_000, 1_500_000, inline], 8);
    }
    let learned = model.learned();
    assert!((2..40).contains(&learned.switches), "{learned:?}");
    assert_eq!(model.home(), "post-wait", "{learned:?}");
}

#[test]
fn a_session_that_is_alone_writes_for_itself() {
    let ns = [200_000, 120_000, 100_000];
    let mut model = Model::auto();
    model.writes(10_000, ns, 1);
    assert_eq!(model.way, ALONE_WAY);
    assert_eq!(model.learned().trials, 0);
    assert_eq!(model.learned().alone, 10_000);
    model.writes(10_000, ns, 2);
    assert!(model.learned().trials > 0);
    let alone = model.learned().alone;
    assert!((10_000..10_020).contains(&alone), "{alone}");
    model.writes(10_000, ns, 1);
    assert_eq!(model.way, ALONE_WAY);
    // Who comes now and then while another's redo is written is no company.
    for _ in 0..1_000 {
        model.writes(20, ns, 1);
        model.now += 100_000;
        let (now, device) = (Nanos(model.now), model.device);
        let way = model.learner.published(now, device, 1, 1);
        assert_eq!(way, ALONE_WAY);
    }
}

/// Without a device, and on memory: nobody is worth waking for a log write of a microsecond.
#[test]
fn a_device_that_is_done_at_once_is_written_by_who_commits() {
    let ns = [20_000, 10_000, 15_000];
    let mut model = Model::auto();
    model.device = Nanos(800);
    model.writes(50_000, ns, 64);
    assert_eq!(model.way, ALONE_WAY);
    assert_eq!(model.learned().trials, 0);
    // Nor are these sessions that commit alone, but for the first log writes.
    assert!(model.learned().alone <= 10 * 64, "{:?}", model.learned());
    // One stall is no other device.
    model.device = Nanos::from_millis(20);
    model.writes(1, ns, 64);
    model.device = Nanos(800);
    model.writes(100, ns, 64);
    assert_eq!((model.way, model.learned().trials), (ALONE_WAY, 0));
    // A device that takes its time is.
    model.device = Nanos::from_micros(60);
    model.millis(50, [150_000, 110_000, 150_000], 64);
    assert_eq!(model.home(), "polling", "{:?}", model.learned());
    // Between the two limits it remains what it was.
    model.device = Nanos::from_micros(5);
    model.writes(1_000, ns, 64);
    assert_ne!(model.way, ALONE_WAY);
    model.device = Nanos(800);
    model.writes(1_000, ns, 64);
    assert_eq!(model.way, ALONE_WAY);
}

#[test]
fn what_is_fixed_or_has_one_processor_is_not_tried() {
    for (learner, name) in [
        (Learner::new(None, LogFileSync::PostWait, true), None),
        (Learner::new(None, LogFileSync::Adaptive, false), None),
        (
            Learner::new(None, LogFileSync::Polling, true),
            Some("polling"),
        ),
        (
            Learner::new(Some(true), LogFileSync::Adaptive, false),
            Some("inline"),
        ),
    ] {
        let mut model = Model::of(learner);
        model.writes(50_000, [100_000, 50_000, 200_000], 8);
        if let Some(name) = name {
            assert_eq!((model.home(), model.learned().trials), (name, 0));
        } else {
            assert_eq!((model.home(), model.learned().polled), ("post-wait", 0));
        }
    }
}

#[test]
fn a_pause_belongs_to_no_window() {
    let mut window = Window::default();
    let mut now = 0;
    let length = (WINDOW_WRITES, WINDOW);
    for _ in 0..WINDOW_WRITES {
        now += 100_000;
        assert_eq!(window.add(Nanos(now), 1, length), None);
    }
    now += IDLE.0;
    assert_eq!(window.add(Nanos(now), 1, length), None, "idle");
    let mut rate = None;
    while rate.is_none() {
        now += 1_000_000;
        rate = window.add(Nanos(now), 2, length);
    }
    let seen = Seen {
        per_s: 2000.0,
        per_write: 2.0,
    };
    assert_eq!(rate, Some(seen));
}

#[test]
fn a_pause_is_no_collapse_of_polling() {
    let ns = [150_000, 110_000, 150_000];
    let mut model = Model::auto();
    model.millis(2_000, ns, 8);
    assert_eq!(model.home(), "polling");
    let switches = model.learned().switches;
    for _ in 0..50 {
        model.now += IDLE.0;
        model.millis(300, ns, 8);
        assert_eq!(model.home(), "polling", "{:?}", model.learned());
    }
    assert_eq!(model.learned().switches, switches);
}

/// A stream that nobody waits for: most log writes serve no commit.
#[test]
fn log_writes_without_commits_are_no_change_of_the_load() {
    let mut model = Model::auto();
    for _ in 0..20_000 {
        model.writes(4, [100_000; 3], 0);
        model.writes(1, [100_000; 3], 3);
    }
    let learned = model.learned();
    assert!(learned.trials < 40, "{learned:?}");
}

#[test]
fn equal_inputs_give_equal_decisions() {
    let (mut a, mut b) = (Model::auto(), Model::auto());
    for model in [&mut a, &mut b] {
        model.writes(7_000, [90_000, 70_000, 80_000], 3);
    }
    assert_eq!(a.learned(), b.learned());
}
