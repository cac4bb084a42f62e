"""Rows of the table of faults: data, export, disks, signals, tracking and whatever else a study stands on."""

from __future__ import annotations

from tests.faults.promises import CANDIDATE, EXPORT, LATER, ONE_LINE, RESUMES, SAME, row

_WORKER = "tests/faults/test_worker.py"
_EXPORT = f"{_WORKER}::test_a_fault_during_the_export_costs_the_export_and_not_the_answer"
_APART = f"{_WORKER}::test_a_model_that_cannot_be_taken_apart_costs_nothing_but_its_explanation"
_AGAIN = f"{_WORKER}::test_the_very_command_makes_up_for_an_export_that_failed"
_DISK = "tests/faults/test_disk.py"
_FULL = f"{_DISK}::test_a_disk_that_fills_up_is_one_line_and_the_study_goes_on_once_there_is_room"
_DATA = "tests/faults/test_data.py"
_CHANGED = f"{_DATA}::test_data_that_one_worker_cannot_have_cost_what_it_was_to_measure"
_SIGNALS = "tests/faults/test_signals.py"
_EVERY_SIGNAL = f"{_SIGNALS}::test_one_study_outlives_every_signal_at_every_stage"
_ENVIRONMENT = "tests/faults/test_environment.py"
_GPU = f"{_ENVIRONMENT}::test_a_gpu_that_cannot_be_used_or_read_is_said_and_the_study_goes_on"
_HOME = f"{_ENVIRONMENT}::test_a_home_that_cannot_be_written_no_utf_8_and_no_room_for_temporary_files"
_KILLS = "tests/faults/test_kills.py::test_a_study_that_is_killed_at_random_ends_as_if_it_had_not_been"
_REHEARSED_KILLS = "tests/faults/test_kills.py::test_a_rehearsed_study_that_is_killed_at_random_finds_exactly_the_same"
_OUTAGE = "tests/tracking/test_outage.py"
_LEFT = "tests/worker/test_leftovers.py"

SURROUNDINGS = (  # Data.
    row(
        "screen",
        "data change between two workers",
        "another seed at the second load",
        f"{CANDIDATE}: invalid",
        _CHANGED,
    ),
    row(
        "screen",
        "data disappear and come back",
        "FileNotFoundError at the second load",
        f"{CANDIDATE}: invalid",
        _CHANGED,
    ),
    row(
        "screen",
        "many trials",
        "two hundred, with MLflow",
        "the parent's memory does not grow with them",
        "tests/faults/test_growth.py::test_the_parent_does_not_grow_with_its_trials",
    ),
    row(
        "resumption",
        "other data than before",
        "another seed in the second session",
        f"{ONE_LINE} (2), and {RESUMES} with the first data",
        f"{_DATA}::test_a_study_is_not_resumed_on_other_data",
    ),
    # Export.
    row(
        "export",
        "taking the model apart fails",
        "SIGKILL; a sleep; NumPy asked for 2 EB",
        f"{SAME}, unexplained",
        _APART,
    ),
    row("export", "evaluation crashes", "SIGSEGV, twice", EXPORT, _EXPORT),
    row("export", "saving hangs", "a sleep", EXPORT, _EXPORT),
    row("export", "reloading hangs", "SIGSTOP of the fresh process", EXPORT, _EXPORT),
    row("export", "killed while it exports", "SIGKILL to itself, twice", EXPORT, _AGAIN),
    # Disks.
    row(
        "every stage",
        "the run's disk is full",
        "a tmpfs of 16 MB, filled in a probe, a training and an export",
        f"{RESUMES} (1 or 2)",
        _FULL,
    ),
    row(
        "start",
        "no room for a record",
        "a full tmpfs",
        f"{ONE_LINE} (1 or 2)",
        f"{_DISK}::test_a_disk_without_room_for_a_record_is_one_line",
    ),
    row(
        "start",
        "a read-only disk",
        "a tmpfs mounted read-only",
        f"{ONE_LINE} (2)",
        f"{_DISK}::test_an_output_folder_on_a_read_only_disk_is_refused_before_anything_is_measured",
    ),
    row(
        "every stage",
        "TMPDIR is full",
        "a full tmpfs of 64 KiB",
        SAME,
        f"{_DISK}::test_a_place_for_temporary_files_without_room_is_done_without",
        _HOME,
    ),
    row(
        "screen",
        "a candidate fills TMPDIR",
        "a tmpfs of 8 MB",
        f"{CANDIDATE}: invalid; what it wrote is gone",
        f"{_DISK}::test_a_temporary_folder_that_a_candidate_fills_costs_that_candidate",
    ),
    row(
        "resumption",
        "a line cut in the middle",
        "the record cut within a character",
        "the whole lines count, and it goes on behind them",
        "tests/record/test_record.py::test_a_line_cut_inside_a_character_is_left_out_too",
        "tests/record/test_record.py::test_a_record_that_was_cut_can_be_appended_to",
    ),
    # Signals.
    row("screen, evaluation", "Ctrl-C", "SIGINT to a session that hangs there", f"{RESUMES} (130)", _EVERY_SIGNAL),
    row("verify, reload", "SIGTERM", "to a session that hangs there", f"{RESUMES} (143) within 10 s", _EVERY_SIGNAL),
    row("confirm", "the terminal is closed", "SIGHUP", f"{RESUMES} (129) within 10 s", _EVERY_SIGNAL),
    row("baseline, export", "the parent is killed", "SIGKILL", RESUMES, _EVERY_SIGNAL),
    row("baseline", "parent and worker are killed", "SIGKILL to both", RESUMES, _EVERY_SIGNAL),
    row(
        "verify",
        "somebody kills the worker",
        "SIGKILL from outside",
        SAME,
        f"{_SIGNALS}::test_a_worker_that_somebody_kills_is_replaced_and_nothing_else_happens",
    ),
    row(
        "report",
        "killed before the report is there",
        "SIGKILL once the export is recorded",
        f"{RESUMES}, with its report",
        f"{_SIGNALS}::test_a_study_that_is_killed_before_its_report_is_written_gets_its_report",
    ),
    row(
        "every stage",
        "killed at random moments",
        "SIGKILL to the parent, or to all; 50 by `make faults`",
        f"{RESUMES}; totals of trials, seeds and budget",
        _KILLS,
        _REHEARSED_KILLS,
    ),
    row(
        "every stage",
        "killed after any line of the record",
        "all of them, in a made-up study",
        RESUMES,
        "tests/study/test_resume.py::test_a_study_killed_after_any_line_ends_as_if_it_had_not_been",
    ),
    row(
        "every stage",
        "the parent dies while the worker hangs",
        "SIGKILL to a parent whose worker is deaf",
        "nothing is left running",
        f"{_LEFT}::test_nothing_is_left_of_a_worker_whose_parent_was_killed",
    ),
    # Tracking.
    row(
        "every stage",
        "MLflow's database is locked",
        "BEGIN EXCLUSIVE from another process",
        LATER,
        f"{_OUTAGE}::test_a_lock_in_the_middle_delays_what_is_sent_and_nothing_else",
    ),
    row(
        "start",
        "MLflow's database is read-only or gone",
        "an immutable file; a folder in its place",
        LATER,
        f"{_OUTAGE}::test_a_study_that_begins_without_its_store_is_sent_when_the_store_is_there",
    ),
    row("every stage", "MLflow's disk is full", "a tmpfs of 8 MB", LATER, f"{_OUTAGE}::test_a_full_disk_in_the_middle"),
    row(
        "every stage",
        "an MLflow server is killed and started again",
        "a real server; SIGKILL, SIGSTOP",
        LATER,
        "tests/tracking/test_server.py::test_a_study_outlives_a_server_that_is_killed_started_again_and_hangs",
    ),
    row(
        "every stage",
        "MLflow's database is overwritten",
        "text in its place",
        "said once, with the command for later",
        f"{_OUTAGE}::test_a_database_that_is_overwritten_is_reported_and_sinks_nothing",
    ),
    # Surroundings.
    row("every stage", "HOME is read-only", "a tmpfs mounted read-only", SAME, _HOME),
    row(
        "every stage",
        "no terminal, LC_ALL=C, a path that is not ASCII",
        "pipes; a folder named Jörg's réseau",
        SAME,
        _HOME,
    ),
    row(
        "every stage",
        "a path that the locale cannot say",
        "the same with Python's UTF-8 mode off",
        SAME,
        f"{_ENVIRONMENT}::test_a_path_that_the_locale_cannot_say",
    ),
    row(
        "every stage",
        "the reader of the output goes away",
        "the pipe is closed at once",
        SAME,
        f"{_ENVIRONMENT}::test_a_reader_that_goes_away_costs_nothing",
    ),
    row(
        "every stage",
        "no standard streams",
        "descriptors 0, 1 and 2 are closed",
        SAME,
        f"{_ENVIRONMENT}::test_standard_input_output_and_error_that_are_closed",
    ),
    row(
        "every stage",
        "a clock that jumps",
        "ten years back and forth, from look to look",
        SAME,
        f"{_ENVIRONMENT}::test_a_clock_on_the_wall_that_jumps_moves_no_budget",
    ),
    row("start", "no NVIDIA driver", "a driver library that says so", SAME, _GPU),
    row(
        "start",
        "NVML without permission",
        "a driver library that refuses",
        f"{SAME}, and says what it could not see",
        _GPU,
    ),
    row(
        "start",
        "a MIG instance",
        "a driver library that shows one",
        f"{SAME}, and says why it is not used",
        _GPU,
    ),
)
