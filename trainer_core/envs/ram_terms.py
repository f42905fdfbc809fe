"""A task's RAM terms for N consoles: one Warp kernel that interprets the program, and what it remembers.

A thread scores a console. All threads are at the same instruction, so the interpreter's branches cost a warp nothing
twice; a program of a hundred instructions takes some microseconds beside the milliseconds of a step.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
import warp as wp
from torch import Tensor

from emulator import Emulator
from emulator.launch.warp_start import start_warp
from emulator.launch.watched_memory import Watch
from trainer_core.envs.novelty import SPREAD, ScreenCounts
from trainer_core.envs.state_checks import check_like
from trainer_core.lab.ram_expressions import MOST_STACK, Op, Program
from trainer_core.wire.shades import MAX_SHADE

MOST_PLACES = 1 << 16
"""Most entries of a console's set of met keys; a full set pays nothing more."""
LAST_EPOCH = 255
"""Number of episodes after which a console's sets are cleared: the upper byte of an entry is its episode's number."""
SPREAD_WORD = wp.constant(wp.uint32(SPREAD & 0xFFFFFFFF))
LARGEST_KEY = wp.constant(2.0**53)
Stack = wp.types.vector(length=MOST_STACK, dtype=wp.float64)
CONST, LITTLE, BIG, BCD, DIGITS, SUM, POPCOUNT, BIT = (wp.constant(int(op)) for op in list(Op)[:8])
ADD, SUB, MUL, DIV, MIN, MAX, LESS, LESS_EQUAL, EQUAL, AND, OR = (wp.constant(int(op)) for op in list(Op)[8:19])
NOT, NEG, ABS, FLOOR, GAIN, NEW, NOVELTY, TERM, DONE, SCORE = (wp.constant(int(op)) for op in list(Op)[19:])


@wp.func
def read_bytes(op: int, rows: wp.array2d[wp.uint8], env: int, first: int, count: int) -> wp.float64:
    """Return the value of `count` bytes as the instruction `op` reads them; of a BIT, `count` is its number."""
    if op == BIT:
        return wp.float64((int(rows[env, first + (count >> 3)]) >> (count & 7)) & 1)
    value = wp.float64(0.0)
    scale = wp.float64(1.0)
    for n in range(count):
        byte = int(rows[env, first + n])
        if op == BIG:
            value = value * wp.float64(256.0) + wp.float64(byte)
        elif op == LITTLE:
            value = value + scale * wp.float64(byte)
            scale = scale * wp.float64(256.0)
        elif op == BCD:
            value = value * wp.float64(100.0) + wp.float64(10 * (byte >> 4) + (byte & 15))
        elif op == DIGITS:
            value = value * wp.float64(10.0) + wp.float64(byte)
        elif op == SUM:
            value = value + wp.float64(byte)
        else:
            pairs = byte - ((byte >> 1) & 0x55)
            fours = (pairs & 0x33) + ((pairs >> 2) & 0x33)
            value = value + wp.float64((fours + (fours >> 4)) & 0x0F)
    return value


@wp.func
def compute(op: int, a: wp.float64, b: wp.float64) -> wp.float64:
    """Return the value of an instruction of two numbers; those of one number ignore `a`."""
    zero = wp.float64(0.0)
    one = wp.float64(1.0)
    if op == ADD:
        return a + b
    if op == SUB:
        return a - b
    if op == MUL:
        return a * b
    if op == DIV:
        return wp.where(b == zero, zero, a / wp.where(b == zero, one, b))
    if op == MIN:
        return wp.where(b < a, b, a)
    if op == MAX:
        return wp.where(b > a, b, a)
    if op == LESS:
        return wp.where(a < b, one, zero)
    if op == LESS_EQUAL:
        return wp.where(a <= b, one, zero)
    if op == EQUAL:
        return wp.where(a == b, one, zero)
    if op == AND:
        return wp.where(a != zero and b != zero, one, zero)
    if op == OR:
        return wp.where(a != zero or b != zero, one, zero)
    if op == NOT:
        return wp.where(b == zero, one, zero)
    if op == NEG:
        return -b
    if op == ABS:
        return wp.abs(b)
    return wp.floor(b)


@wp.func
def key_of(value: wp.float64) -> wp.int64:
    """Return the lowest 24 bits of a number, 0 for one that is not exact."""
    if wp.abs(value) < wp.float64(LARGEST_KEY):
        return wp.int64(value) & wp.int64(0xFFFFFF)
    return wp.int64(0)


@wp.func
def meet(met: wp.array3d[wp.uint32], env: int, number: int, entry: wp.uint32, epoch: wp.uint32) -> bool:
    """Add an entry to a set; return whether the set lacked it. Entries of other episodes are free places."""
    size = wp.uint32(met.shape[2])
    at = (entry * SPREAD_WORD) >> wp.uint32(8)
    for tried in range(met.shape[2]):
        place = int((at + wp.uint32(tried)) % size)
        found = met[env, number, place]
        if found == entry:
            return False
        if (found >> wp.uint32(24)) != epoch:
            met[env, number, place] = entry
            return True
    return False


@wp.kernel(enable_backward=False)
def score_bytes(
    words: wp.array2d[wp.int32],
    constants: wp.array[wp.float64],
    weights: wp.array[wp.float64],
    before: wp.array2d[wp.uint8],
    after: wp.array2d[wp.uint8],
    steps: wp.array[wp.int32],
    epochs: wp.array[wp.int32],
    records: wp.array2d[wp.float64],
    met: wp.array3d[wp.uint32],
    parts: wp.array2d[wp.float32],
    reward: wp.array[wp.float32],
    done: wp.array[wp.bool],
    score: wp.array[wp.float64],
    keys: wp.array2d[wp.int64],
):
    """Run the program for each console; `steps` is 0 in the first step of an episode."""
    env = wp.tid()
    stack = Stack()
    top = wp.int32(0)
    total = wp.float64(0.0)
    epoch = wp.uint32(epochs[env]) << wp.uint32(24)
    for number in range(words.shape[0]):
        op = words[number, 0]
        a = words[number, 1]
        if op == CONST:
            stack[top] = constants[a]
            top = top + 1
        elif op <= BIT:
            if a == 0:
                stack[top] = read_bytes(op, before, env, words[number, 2], words[number, 3])
            else:
                stack[top] = read_bytes(op, after, env, words[number, 2], words[number, 3])
            top = top + 1
        elif op <= OR:
            top = top - 1
            stack[top - 1] = compute(op, stack[top - 1], stack[top])
        elif op <= FLOOR:
            stack[top - 1] = compute(op, stack[top - 1], stack[top - 1])
        elif op == GAIN:
            top = top - 1
            value = stack[top]
            record = records[env, a]
            if steps[env] == 0:
                record = stack[top - 1]
            records[env, a] = wp.max(record, value)
            stack[top - 1] = wp.max(wp.float64(0.0), value - record)
        elif op == NEW:
            top = top - 1
            zero = wp.float64(0.0)
            if steps[env] == 0 and stack[top - 1] >= zero:
                begun = wp.uint32(key_of(stack[top - 1])) | epoch
                meet(met, env, a, begun, epoch >> wp.uint32(24))
            stack[top - 1] = zero
            if stack[top] >= zero:
                key = wp.uint32(key_of(stack[top])) | epoch
                if meet(met, env, a, key, epoch >> wp.uint32(24)):
                    stack[top - 1] = wp.float64(1.0)
        elif op == NOVELTY:
            keys[env, a] = key_of(wp.max(stack[top - 1], wp.float64(0.0)))
            stack[top - 1] = wp.float64(0.0)
        elif op == TERM:
            top = top - 1
            term = weights[a] * stack[top]
            parts[env, a] = wp.float32(term)
            total = total + term
        elif op == DONE:
            top = top - 1
            done[env] = stack[top] != wp.float64(0.0)
        else:
            top = top - 1
            score[env] = stack[top]
    reward[env] = wp.float32(total)


class WatchedRam(NamedTuple):
    """RAM terms of a GameEnv, and the rows of pixels in which its policy sees the watched bytes."""

    terms: "RamTerms"
    rows: int

    def with_rows(self, pictures: Tensor, watched: Tensor) -> Tensor:
        """Return `pictures` u8[N, 72, 80] with `watched` u8[N, B] as pixels below, u8[N, H, 80]; see `ram_rows`."""
        if not self.rows:
            return pictures
        shown = pictures.new_zeros(len(pictures), pictures.shape[1] + self.rows, pictures.shape[2])
        shown[:, : pictures.shape[1]] = pictures
        bits = watched[:, :, None] >> torch.arange(8, dtype=torch.uint8, device=watched.device) & 1
        shown.flatten(1)[:, pictures[0].numel() :][:, : bits[0].numel()] = bits.flatten(1) * MAX_SHADE
        return shown


class RamTerms:
    """Rewards, ends and scores of N consoles by their watched bytes."""

    def __init__(
        self, program: Program, watched: Tensor, starts: Tensor, horizon: int, *, novelty: bool = True
    ) -> None:
        """Score `watched` u8[N, B], which every step overwrites; `starts` u8[S, B] are the bytes at all start states.

        An episode has at most `horizon` steps. Without `novelty` its terms pay nothing, as in validation.
        """
        start_warp()
        device, count = watched.device, len(watched)

        def made(*shape: int, dtype: torch.dtype) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.program, self.watched, self.starts = program, watched, starts
        self.watch: Watch | None = None
        """Watch of `watching`."""
        self.before = watched.clone()
        places = min(MOST_PLACES, 1 << (3 * horizon // 2 + 2).bit_length()) if program.sets else 1
        self.epochs = made(count, dtype=torch.int32) + 1
        self.records = made(count, max(1, program.records), dtype=torch.float64)
        self.met = made(count, max(1, program.sets), places, dtype=torch.int32)
        self.parts = made(count, max(1, len(program.terms)), dtype=torch.float32)
        self.reward = made(count, dtype=torch.float32)
        self.done = made(count, dtype=torch.bool)
        self.score = made(count, dtype=torch.float64)
        self._keys = made(count, max(1, len(program.counted)), dtype=torch.int64)
        self.counts = [ScreenCounts(device) for _ in program.counted] if novelty else []
        self._sums = made(len(program.terms) + 1, dtype=torch.float64)
        self._best = made(1, dtype=torch.float64) - torch.inf
        self._steps = 0
        words = torch.tensor(program.words, dtype=torch.int32, device=device)
        constants = torch.tensor([*program.constants, 0.0], dtype=torch.float64, device=device)
        weights = torch.tensor([*program.weights, 0.0], dtype=torch.float64, device=device)
        fixed = (words, constants, weights, self.before, watched)
        own = (self.epochs, self.records, self.met, self.parts, self.reward, self.done, self.score, self._keys)
        self._fixed, self._own = ([wp.from_torch(one) for one in some] for some in (fixed, own))
        self._own[2] = wp.from_torch(self.met, dtype=wp.uint32)

    @classmethod
    def watching(
        cls,
        emulator: Emulator,
        watch: Mapping[str, Any],
        terms: Mapping[str, tuple[float, str]],
        *,
        values: Mapping[str, str] | None = None,
        done: str = "",
        horizon: int = 2048,
    ) -> "RamTerms":
        """Watch bytes of all consoles of `emulator` and score them, for an environment of one's own.

        `watch`: places by name, as for `Emulator.watch`. `terms`: (weight, expression) by name; `values`: named
        expressions; `done`: one that ends episodes. Call `step` after each `run`, and `restart` after resets. Raises
        LabError with line and column of an error in an expression, EmulatorError for a place that cannot be read.
        """
        found = emulator.watch(**watch)
        groups = found.slices
        program = Program()
        for name, value in (values or {}).items():
            program.add_value(name, value, groups)
        for name, (weight, value) in terms.items():
            program.add_term(name, value, weight, groups)
        if done:
            program.add_done(done, groups)
        made = cls(program, wp.to_torch(found.bytes), torch.empty(0), horizon)
        made.watch = found
        return made

    def step(self, steps: Tensor) -> tuple[Tensor, Tensor]:
        """Score the step that led to the watched bytes; return the reward f32[N] and done bool[N].

        `steps` i32[N] are the steps of each episode before this one.
        """
        inputs = [*self._fixed, wp.from_torch(steps), *self._own]
        wp.launch(score_bytes, len(self.reward), inputs, device=self._fixed[0].device)
        self.before.copy_(self.watched)
        for number, counts in enumerate(self.counts):
            term = self.program.counted[number]
            # A key has 24 bits; the counts go by the upper bits of a hash of 32.
            bonus = (
                counts.visit(self._keys[:, number] * (SPREAD & 0xFFFFFFFF) & 0xFFFFFFFF) * self.program.weights[term]
            )
            self.parts[:, term] = bonus
            self.reward += bonus
        self._sums[:-1] += self.parts[:, : len(self.program.terms)].sum(0, dtype=torch.float64)
        self._sums[-1] += self.score.sum()
        self._best = torch.maximum(self._best, self.score.max())
        self._steps += 1
        return self.reward, self.done

    def restart(self, where: Tensor, starts: Tensor | None = None) -> None:
        """Begin new episodes in the envs `where` bool[N], at the start states `starts` i64[N].

        None: where the consoles stand now, after a reset.
        """
        if starts is None:
            assert self.watch is not None
            self.watch.update()
            self.before.copy_(self.watched)
        else:
            torch.where(where[:, None], self.starts[starts], self.before, out=self.before)
        self.epochs += where
        if self.program.sets:
            over = self.epochs > LAST_EPOCH
            if not over.is_cuda and bool(over.any()):
                self.met[over] = 0
            elif over.is_cuda:
                self.met.masked_fill_(over[:, None, None], 0)
            self.epochs.masked_fill_(over, 1)

    def take(self) -> dict[str, float]:
        """Return the mean of each term a step, and mean and maximum of the score, since the last call; this waits for
        the device."""
        if not self._steps:
            return {}
        count = self._steps * len(self.reward)
        *terms, score = (self._sums / count).tolist()
        found = {f"reward/{name}": value for name, value in zip(self.program.terms, terms, strict=True)}
        if self.program.scores:
            found |= {"score/mean": score, "score/max": float(self._best)}
        self._sums.zero_()
        self._best.fill_(-torch.inf)
        self._steps = 0
        return found

    def forget(self) -> None:
        """Forget what the run has counted, so that the same seed gives the same rewards."""
        for each in self.counts:
            each.counts.zero_()

    def state_dict(self) -> dict[str, Any]:
        state = {name: getattr(self, name).cpu() for name in ("before", "epochs", "records", "met")}
        return state | {f"counts{number}": each.counts.cpu() for number, each in enumerate(self.counts)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict`. Raises CheckpointError for an invalid one."""
        check_like(state, self.state_dict(), "the state of the RAM terms")
        for name in ("before", "epochs", "records", "met"):
            getattr(self, name).copy_(state[name])
        for number, each in enumerate(self.counts):
            each.counts.copy_(state[f"counts{number}"])
