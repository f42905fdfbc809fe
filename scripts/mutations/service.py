"""List patches of service, runs, owned processes and checkpoints that the tests must notice.

Each is (file, old text, new text, arguments of pytest that must then fail).
"""

from __future__ import annotations

PERSISTENCE = "trainer_core/host/persistence.py"
TRAINER = "trainer_core/service/trainer.py"
TESTS = "tests/trainer_core/"

MUTATIONS: list[tuple[str, str, str, str]] = [
    (  # a checkpoint that is written in place
        "trainer_core/lab/checkpoint_manifest.py",
        'partial = final.with_name(f".{final.name}{_PARTIAL}")',
        "partial = final",
        TESTS + "test_durability.py",
    ),
    (  # a rename that a power cut undoes
        "trainer_core/lab/durable_files.py",
        "    source.replace(target)\n    sync_folder(target.parent)",
        "    source.replace(target)",
        TESTS + "test_durability.py",
    ),
    (  # a file that is renamed before it is on the disk
        "trainer_core/lab/durable_files.py",
        "            write_all(descriptor, data)\n            os.fsync(descriptor)",
        "            write_all(descriptor, data)",
        TESTS + "test_durability.py",
    ),
    (  # a record that is announced before it is written
        "trainer_core/runs/log_writer.py",
        "            self._write(line, sync=isinstance(record, KEPT_FOR_GOOD))\n"
        "            self.seq += 1\n            self._listener(line)",
        "            self._listener(line)\n"
        "            self._write(line, sync=isinstance(record, KEPT_FOR_GOOD))\n"
        "            self.seq += 1",
        TESTS + "test_training.py -k does_not_fit",
    ),
    (  # two trainers in one directory
        "trainer_core/runs/run_lock.py",
        "fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)",
        TESTS + "test_run_life.py -k 'one_trainer or no_lock'",
    ),
    (  # the best success of a run is its last
        "trainer_core/wire/run_record.py",
        "            best = max(record.best_success_rate, event.success_rate)\n"
        "            return msgspec.structs.replace(record, best_success_rate=best)",
        "            best = event.success_rate\n"
        "            return msgspec.structs.replace(record, best_success_rate=best)",
        TESTS + "test_run_life.py -k the_best_success",
    ),
    (  # the stop ladder leaves out SIGTERM
        "trainer_core/service/stopping.py",
        "    child.signal_group(signal.SIGTERM)\n",
        "",
        TESTS + "test_service.py -k 'second_stop or step_by_step'",
    ),
    (  # status 0 is always a success
        "trainer_core/service/hosted_run.py",
        "        return _good_end_of(kept)",
        "        return RunState.FINISHED, kept.stop_reason",
        TESTS + "test_service_ends.py -k status_0",
    ),
    (  # a run of another folder changes this one
        "trainer_core/service/events.py",
        "if live.plan.runner.writes_log and event.run_id != run_id:",
        "if False:",
        TESTS + "test_service_ends.py -k another_run",
    ),
    (  # an order that its runner refuses keeps its device
        "trainer_core/runs/queue_steps.py",
        "        claim.device.release()\n",
        "        pass\n",
        TESTS + "test_queue.py -k refuses",
    ),
    (  # the newest checkpoint is a late one without consoles
        "trainer_core/host/late_validation.py",
        "        self._saved = True\n",
        "        self._saved = False\n",
        TESTS + "test_validation_beside.py -k kill_after",
    ),
    (  # a pause within an update stays
        "trainer_core/host/worker.py",
        "if control.begun and was_paused:",
        "if False:",
        TESTS + "test_run_life.py -k taken_back",
    ),
    (  # damaged checkpoints mean a new beginning
        PERSISTENCE,
        "        if there:\n",
        "        if not there:\n",
        TESTS + "test_training.py -k nothing_but_damaged",
    ),
    (  # an import writes over what was learnt since
        "trainer_core/runs/import_run.py",
        "        if paths.config.is_file():\n",
        "        shutil.rmtree(paths.root, ignore_errors=True)\n        if paths.config.is_file():\n",
        TESTS + "test_runs_importing.py",
    ),
    (  # nobody looks whether the parent died before the signal was armed
        "trainer_core/wire/process_guard.py",
        "    if os.getppid() != parent:",
        "    if False:",
        TESTS + "test_process_guard.py -k before_the_signal",
    ),
    (  # no guard: a child that is busy in C stays
        "trainer_core/wire/process_guard.py",
        "    _post_guard(parent)\n",
        "",
        TESTS + "test_process_guard.py -k busy_in_c",
    ),
    (  # preparation counts as training
        "trainer_core/host/run.py",
        '        self.tell_state("running")\n        self.began = self._recorded = ',
        '        self.tell_state("running")\n        self._recorded = ',
        TESTS + "test_training.py -k first_update",
    ),
    (  # what the pipe left out stays out
        "trainer_core/service/hosted_run.py",
        "        return records_between(self.life.paths, first, event.seq)",
        "        return []",
        TESTS + "test_service_ends.py -k left_out",
    ),
    (  # a detached host that sleeps holds up the training
        "trainer_core/wire/event_pipe.py",
        "                if not waits:\n                    return False\n",
        "",
        TESTS + "test_process_guard.py -k sleeps",
    ),
    (  # an app takes up what was asked to outlive it
        "trainer_core/runs/queue_steps.py",
        "if entry.detached and not is_detached_host and _detached_host_comes(home, entry):",
        "if False:",
        TESTS + "test_queue.py -k left_to_the_keeper",
    ),
    (  # a guest's own W&B calls leave this computer without a tick
        TRAINER,
        ", **guest_variables(life.paths)}",
        "}",
        TESTS + "test_wandb.py -k reach_nobody",
    ),
    (  # the agreement to W&B travels with an archive
        "trainer_core/runs/archive.py",
        ', "mail", wandb_run.FILE}',
        ', "mail"}',
        TESTS + "test_wandb.py -k holds_no_key",
    ),
]
