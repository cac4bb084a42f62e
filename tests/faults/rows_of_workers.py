"""Rows of the table of faults: what can go wrong in a worker, from its start to the last candidate."""

from __future__ import annotations

from tests.faults.promises import CANDIDATE, ONE_LINE, SAME, row

_WORKER = "tests/faults/test_worker.py"
_ONCE = f"{_WORKER}::test_a_worker_that_dies_once_at_every_place_changes_nothing_that_is_found"
_CANDIDATE = f"{_WORKER}::test_each_candidate_meets_another_fault_and_the_one_that_meets_none_wins"
_FINALIST = f"{_WORKER}::test_each_finalist_meets_another_fault_and_float32_stays"
_BASELINE = f"{_WORKER}::test_without_a_baseline_there_is_no_study_and_one_line_says_why"
_LEFTOVERS = f"{_WORKER}::test_what_a_worker_prints_forks_and_leaves_behind_harms_nothing"
_METRIC = f"{_WORKER}::test_a_metric_that_fails_on_one_candidate_costs_that_candidate"
_MEMORY = "tests/faults/test_memory.py::test_a_candidate_that_eats_memory_is_stopped_before_the_kernel_picks_somebody"
_DATA = "tests/faults/test_data.py"
_SIGNALS = "tests/faults/test_signals.py"
_EARLY = f"{_SIGNALS}::test_before_anything_is_measured_a_signal_leaves_nothing"
_FRAMEWORK = "tests/faults/test_framework.py"
_TYPED = f"{_FRAMEWORK}::test_a_fault_of_the_framework_is_typed_and_costs_its_candidate"

WORKERS = (
    # Once, at every operation of a study: the second try, in a fresh worker, finds the same.
    row("every stage", "worker killed once", "SIGKILL to itself, at each operation in turn", SAME, _ONCE),
    row("every stage", "worker crashes once", "a read from address zero; `abort()`", SAME, _ONCE),
    row("every stage", "worker closes its pipes once", "`close` on all descriptors from 3 on", SAME, _ONCE),
    row("every stage", "worker writes nonsense once", "text on the pipe of answers", SAME, _ONCE),
    # Starting.
    row("start", "data source always dies", "SIGKILL to itself while it loads", f"{ONE_LINE} (1)", _BASELINE),
    row("start", "framework does not start", "SIGSEGV, twice", f"{ONE_LINE} (1)", _BASELINE),
    row("start", "builder ends the process", "`sys.exit(3)`", f"{ONE_LINE} (1)", _BASELINE),
    row(
        "start",
        "damaged data file",
        "an .npz cut at 0, 50 and 99.9 %",
        f"{ONE_LINE} (2)",
        f"{_DATA}::test_a_damaged_file_is_one_line_and_leaves_nothing",
    ),
    row(
        "start",
        "damaged CIFAR-10 batch",
        "a pickle cut in the middle",
        f"{ONE_LINE} (2)",
        "tests/data/test_restricted_pickle.py::test_a_truncated_pickle_is_named",
    ),
    row(
        "start",
        "Ctrl-C or SIGTERM before the record",
        "sent to a worker that hangs in it",
        "status 130 or 143, nothing left",
        _EARLY,
    ),
    # The baseline.
    row("baseline", "float32 crashes", "`abort()`, twice", f"{ONE_LINE} (2)", _BASELINE),
    row("baseline", "float32 hangs", "a sleep; SIGSTOP to itself in a training", f"{ONE_LINE} (2)", _BASELINE),
    row("baseline", "float32 has no memory", "NumPy asked for 2 EB", f"{ONE_LINE} (2)", _BASELINE),
    # Candidates, in a probe and in a training.
    row(
        "screen, verify, confirm",
        "killed always",
        "SIGKILL to itself",
        f"{CANDIDATE}: crash, SIGKILL",
        _CANDIDATE,
        _FINALIST,
    ),
    row("screen", "segmentation fault", "a read from address zero", f"{CANDIDATE}: crash, SIGSEGV", _CANDIDATE),
    row(
        "screen",
        "segmentation fault in the framework",
        "the same within a layer that TensorFlow traces",
        f"{CANDIDATE}: crash, SIGSEGV",
        _TYPED,
    ),
    row("screen", "abort", "`abort()`", f"{CANDIDATE}: crash, SIGABRT", _CANDIDATE),
    row(
        "screen",
        "abort of TensorFlow itself",
        "bfloat16 under ONEDNN_MAX_CPU_ISA=AVX2",
        f"{CANDIDATE}: crash, SIGABRT",
        f"{_FRAMEWORK}::test_an_abort_of_the_framework_is_a_crash_and_no_other_policys",
    ),
    row("screen", "bus error", "a page beyond the end of a mapped file", f"{CANDIDATE}: crash, SIGBUS", _CANDIDATE),
    row("screen", "arithmetic trap", "SIGFPE to itself", f"{CANDIDATE}: crash, SIGFPE, not tried again", _CANDIDATE),
    row("screen, verify, confirm", "ends with status 0", "`os._exit(0)`", f"{CANDIDATE}: crash", _CANDIDATE, _FINALIST),
    row("screen", "ends with another status", "`sys.exit(3)`", f"{CANDIDATE}: crash", _CANDIDATE),
    row(
        "screen, verify, confirm",
        "exception",
        "RuntimeError of two lines",
        f"{CANDIDATE}: invalid",
        _CANDIDATE,
        _FINALIST,
    ),
    row(
        "verify",
        "metric fails on one candidate",
        "ConfigError, as a person's metric that divides by zero",
        f"{CANDIDATE}: invalid",
        _METRIC,
    ),
    row(
        "screen, verify, confirm",
        "allocator says no",
        "NumPy asked for 2 EB",
        f"{CANDIDATE}: oom",
        _CANDIDATE,
        _FINALIST,
    ),
    row("screen", "TensorFlow's allocator says no", "a tensor of 64 TB", f"{CANDIDATE}: oom", _TYPED),
    row(
        "screen, verify",
        "memory is eaten",
        "3 GB/s in a control group of 1.2 GB",
        f"{CANDIDATE}: oom, before the kernel picks somebody",
        _MEMORY,
    ),
    row(
        "screen",
        "the kernel's own killer",
        "a group of 200 MB, nobody watches",
        "oom",
        "tests/worker/test_memory_faults.py::test_the_kernels_own_killer_takes_the_worker_and_the_parent_tells_of_it",
    ),
    row("screen", "no such kernel", "NotImplementedError", f"{CANDIDATE}: unsupported", _CANDIDATE),
    row("screen", "sleeps for ever", "`time.sleep`", f"{CANDIDATE}: timeout", _CANDIDATE),
    row("screen", "a layer sleeps for ever", "in a Python function of the graph", f"{CANDIDATE}: timeout", _TYPED),
    row("screen, verify, confirm", "stopped", "SIGSTOP to itself", f"{CANDIDATE}: timeout", _CANDIDATE, _FINALIST),
    row(
        "screen",
        "C code holds the interpreter",
        "`sleep` through ctypes, with the lock",
        f"{CANDIDATE}: timeout",
        _CANDIDATE,
    ),
    row(
        "screen",
        "deaf to signals",
        "ignores SIGTERM, SIGINT and SIGHUP, and sleeps",
        f"{CANDIDATE}: timeout",
        _CANDIDATE,
    ),
    row(
        "screen, verify, confirm",
        "nonsense on the pipe",
        "a line that is no answer",
        f"{CANDIDATE}: crash",
        _CANDIDATE,
        _FINALIST,
    ),
    row("screen", "a line without an end", "64 KiB at a time, for ever", f"{CANDIDATE}: crash", _CANDIDATE),
    row("screen", "pipes closed", "`close`, then a sleep", f"{CANDIDATE}: crash", _CANDIDATE),
    row("screen", "an answer of another shape", "a dict that is no probe", f"{CANDIDATE}: crash", _CANDIDATE),
    row("screen", "an answer that JSON does not have", "NaN", f"{CANDIDATE}: invalid", _CANDIDATE),
    row(
        "screen, verify, confirm",
        "processes outlive the worker",
        "one in its group, one in its own session, then SIGSEGV",
        f"{CANDIDATE}: crash; none is left",
        _CANDIDATE,
        _FINALIST,
    ),
    row(
        "screen, confirm",
        "forks, and both copies go on",
        "`fork` in the middle of a probe; processes left in a training",
        SAME,
        _LEFTOVERS,
    ),
    row("baseline", "a flood of output", "40 MB on standard output", f"{SAME}; the log stays below 16 MB", _LEFTOVERS),
    row(
        "screen",
        "a layer floods the output",
        "20 MB printed while it is traced, beside candidates that fail",
        "its candidate has its result",
        f"{_FRAMEWORK}::test_the_candidate_without_a_fault_has_its_result",
    ),
    row("screen", "the loss is NaN", "a layer that multiplies by NaN", f"{CANDIDATE}: nan", _TYPED),
    row(
        "screen", "an output of another shape", "a layer that halves the batch's rows", f"{CANDIDATE}: invalid", _TYPED
    ),
    row(
        "screen",
        "XLA cannot compile it",
        "a Python function in the graph",
        f"{CANDIDATE} with XLA: compile",
        f"{_FRAMEWORK}::test_what_xla_cannot_compile_fails_with_it_alone",
    ),
    row(
        "verify",
        "the loss scale collapses",
        "a gradient that overflows in float16 at every step",
        f"{CANDIDATE}: nan, although its metric looks fine",
        f"{_FRAMEWORK}::test_a_loss_scale_that_collapses_is_a_failure_although_the_metric_looks_fine",
    ),
)
