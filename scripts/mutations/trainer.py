"""List wrong lines of the trainer: environments, algorithms, metrics, validator, faces, input."""

from __future__ import annotations

NOTICING = "tests/trainer_core/test_noticing.py -k "
LOG = "tests/trainer_core/test_log_check.py -k "

MUTATIONS = [
    ("trainer_core/envs/game_env.py", "self._frames = manifest.codec.frames_per_step",
     "self._frames = manifest.codec.frames_per_step - 1", NOTICING + "24_frames"),
    ("trainer_core/host/validator.py", 'starts="validation",', 'starts="train",',
     NOTICING + "never_sees"),
    ("trainer_core/host/watching.py", "        self._writer.publish(pictures.tobytes(), ",
     "        now, pictures = pictures.copy(), getattr(self, 'old', pictures)\n"
     "        self.old = now\n        self._writer.publish(pictures.tobytes(), ",
     NOTICING + "wall"),
    ("trainer_core/play/played_game.py", "self.writer.publish(shown.tobytes(), info)",
     "now = shown.tobytes()\n"
     "        self.writer.publish(getattr(self, 'old', now), info)\n        self.old = now",
     NOTICING + "live_view"),
    ("trainer_core/host/validator.py", "EPISODE_GIF_DELAY_CS = 10", "EPISODE_GIF_DELAY_CS = 100",
     NOTICING + "gif"),
    ("trainer_core/host/checkpoint.py", "    final = paths.checkpoint(meta.env_steps)\n",
     "    final = paths.checkpoint(meta.env_steps)\n    final.mkdir(parents=True, exist_ok=True)\n"
     "    (final / layout.META).write_bytes(b'half')\n", NOTICING + "rename"),
    ("trainer_core/learn/measures.py", '("success_rate",), ("success", ',
     '("success_rate",), ("done", ', NOTICING + "verdict"),
    ("trainer_core/host/evaluate.py", "success |= alive & result.info.success",
     "success |= alive & result.done", NOTICING + "verdict"),
    ("trainer_core/envs/scoring.py", "(steps >= rules.horizon)", "(steps > rules.horizon)",
     "tests/trainer_core/test_scoring.py -k by_hand"),
    ("trainer_core/envs/episodes.py", "            self.counts.counts.zero_()\n",
     "            pass\n", "tests/trainer_core/test_faces.py -k repeats_the_rewards"),
    ("trainer_core/envs/build.py", "return start_set[0::2] if", "return start_set if",
     "tests/trainer_core/test_envs.py -k halves"),
    ("trainer_core/learn/gae.py", "carry = (~(done | trunc))", "carry = (~done)",
     "tests/trainer_core/test_gae.py"),
    ("trainer_core/learn/ppo_loss.py", "torch.maximum(unclipped, clipped)",
     "torch.minimum(unclipped, clipped)", "tests/trainer_core/test_losses.py -k frozen"),
    ("trainer_core/learn/a2c.py", "(total / slices).backward()", "total.backward()",
     "tests/trainer_core/test_losses.py -k slices"),
    ("trainer_core/runs/log_check.py", "if record.previous_seq != record.seq - 1:", "if False:",
     LOG + "damage"),
    ("trainer_core/runs/record_check.py", "math.log(num_actions) + ENTROPY_SLACK",
     "100 + ENTROPY_SLACK",
     LOG + "damage"),
    ("trainer_core/envs/translation.py", "if low < 0 or high", "if high",
     "tests/trainer_core/test_faces.py -k no_action"),
    ("trainer_core/envs/gymnasium_vector.py", "_final_pictures(result.final_obs, ended)",
     "_final_pictures(result.obs, ended)",
     "tests/trainer_core/test_faces.py -k 'as_gymnasium_itself and tiny'"),
    ("trainer_core/wire/fields.py", "if isinstance(value, float) and not math.isfinite(value):",
     "if False:", "tests/trainer_core/test_option_ranges.py"),
    ("trainer_core/host/checkpoint.py", "    if spoilt:\n", "    if not weights:\n",
     "tests/trainer_core/test_decoders.py -k no_numbers"),
    ("trainer_core/envs/episodes.py", "check_range(state[name], 0, limits[name]",
     "(lambda *_: None)(state[name], 0, limits[name]",
     "tests/trainer_core/test_restored.py -k outside_its_range"),
    ("trainer_core/envs/start_states.py", "if longest > MAX_FRAMES:", "if False:",
     "tests/trainer_core/test_decoders_of_tasks.py -k for_ever"),
    ("trainer_core/wire/spec.py", "        check_fields(self)\n", "        pass\n",
     "tests/trainer_core/test_decoders_of_tasks.py -k before_anything_begins"),
    ("trainer_core/host/persistence.py", "            except CheckpointError as error:\n"
     "                reason, taken", "            except MemoryError as error:\n"
     "                reason, taken", "tests/trainer_core/test_restored.py -k passed_over"),
    ("trainer_core/wire/regular_files.py", "os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)\n"
     "    mode = os.fstat(descriptor).st_mode\n    if not stat.S_ISREG(mode):",
     "os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)\n"
     "    mode = os.fstat(descriptor).st_mode\n    if stat.S_ISDIR(mode):",
     "tests/trainer_core/test_decoders.py -k pipes_and_devices"),
]  # fmt: skip
