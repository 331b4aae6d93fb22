"""A program on a device: each outermost nest of parallel turns becomes a kernel, the rest is the host's.

    for t in range(steps):                          for t in range(steps):
        for i: for j, in parallel: u[i, j] = ...  ->     f_1(n, m, u)             f_1(i, j, u): u[i, j] = ...
        for i: s = s + u[i, 0]                          s = s + f_2(n, u)         f_2: sums of blocks

Nests that are not marked as parallel (array statements, and what derivatives make of them) become kernels where it is
proven that their turns meet nowhere (`analysis.device_turns`). Single elements of device arrays that host code moves
or reads (`du[0] = s`, `return total[0]`) are handled by a kernel of one work item, in loops over time too
(`u[2] += source[t]`, where each turn runs nests as well). A host loop over elements is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from adjit.analysis.alias import Affine, Alias
from adjit.analysis.device_turns import DeviceTurns, NotItemsError
from adjit.analysis.ranges import lower_bounds
from adjit.errors import UnsupportedError
from adjit.ir.core import Atom, Block, Function, Let, Load, Loop, Span, Stmt, Store, Sym, Whole
from adjit.ir.visit import Rewriter, inner_targets, operands, targets, walk, yields
from adjit.transform.counted_records import counted_records, counts_by_floats
from adjit.transform.kernel_body import Kernel
from adjit.transform.moved_records import with_records
from adjit.transform.product_nests import product_nests
from adjit.transform.residence import Residence
from adjit.transform.sure_places import sure_places
from adjit.transform.work_items import KernelWriter

_STEPS = frozenset({"argsort", "cumsum", "matmul", "put"})
"""Operations of whole arrays that are single steps of the host's part: calls of the device's library."""


@dataclass(frozen=True)
class OnDevice:
    """main: the host's part; its calls are of `kernels`. on_host: whether an array is in the host's memory.

    strict: whether two kernels must come to the same floats, so that none may be contracted (`a * b + c`).
    """

    main: Function
    kernels: tuple[Kernel, ...]
    on_host: Callable[[Atom], bool]
    strict: bool = False


def on_device(
    function: Function,
    fresh_name: Callable[[str], str],
    hosts: Iterable[Sym] = (),
    results: int | None = None,
    products: bool = False,
) -> OnDevice:
    """The function for a device (see the module).

    hosts: array parameters in the host's memory. results: how many of the results are the user's (None: all).
    products: whether a library has products of matrices.
    Raises: UnsupportedError, DeviceError, with the line of what stands in the way.
    """
    if function.functions:
        raise UnsupportedError(
            "a function that calls itself, in a program on a device",
            "write it as a loop, or run it on NumPy arrays",
            function.span,
        )
    hosts = frozenset(hosts)
    function = counted_records(product_nests(function, products))
    function = with_records(sure_places(function), hosts, results)
    cutter = _Cutter(function, fresh_name, hosts, results)
    body = cutter.block(function.body)
    main = replace(function, body=body, results=cutter.atoms(function.results))
    return OnDevice(main, tuple(cutter.writer.kernels), cutter.residence.on_host, counts_by_floats(function))


class _Cutter(Rewriter):
    def __init__(
        self, function: Function, fresh_name: Callable[[str], str], hosts: Iterable[Sym], results: int | None
    ):
        super().__init__()
        alias, affine = Alias(function), Affine.of(function)
        self._function = function
        self.residence = Residence(function, alias, hosts, function.results[:results])
        self._turns = DeviceTurns(function, alias, affine)
        self._positive = frozenset(s for s, low in lower_bounds(function).items() if low >= 0)
        self.writer = KernelWriter(function, alias, affine, self._turns, self._positive, fresh_name)
        self._uses: Counter[Atom] = Counter(function.results)
        for s in walk(function.body):
            self._uses.update((*operands(s), *yields(s)))
        self._indices: list[tuple[Loop, str]] = []  # host loops around, and why they are no kernels
        self._launching: dict[Loop, bool] = {}

    # blocks

    def block(self, block: Block) -> Block:
        out: list[Stmt] = []
        group: list[Stmt] = []
        made: set[Atom] = set()
        for stmt in block:
            follows = any(a in made for a in operands(stmt))
            if isinstance(stmt, Load | Store) and not self.residence.on_host(stmt.array):
                group.append(stmt)
                made.update((stmt.target,) if isinstance(stmt, Load) else ())
                continue
            if isinstance(stmt, Let) and follows:
                group.append(stmt)
                made.add(stmt.target)
                continue
            if isinstance(stmt, Let | Load | Store) and not follows:
                out += self.stmt(stmt)
                continue
            out += self._moved(group)
            group, made = [], set()
            out += self.stmt(stmt)
        return (*out, *self._moved(group))

    def _moved(self, group: list[Stmt]) -> tuple[Stmt, ...]:
        """Elements of device arrays that host code moves, as a kernel of one work item."""
        if not group:
            return ()
        own: Counter[Atom] = Counter()
        for s in group:
            own.update(operands(s))
        read = [
            s.target for s in group if isinstance(s, Let | Load) and self._uses[s.target] != own[s.target]
        ]
        for s in group:
            if isinstance(s, Load | Store):
                self._refuse_in_loop(s)
        return self.writer.single(tuple(group), tuple(read))

    def _around(self, access: Load | Store) -> tuple[Loop, str] | None:
        """The host loop over elements around whose turns the element follows."""
        for loop, reason in reversed(self._indices):
            if self._launches(loop):
                continue
            inside = {t for s in walk(loop.body) for t in _defines(s)} | {loop.index, *loop.params}
            if any(i in inside for i in access.index):
                return loop, reason
        return None

    def _launches(self, loop: Loop) -> bool:
        """Whether turns of the host loop run nests over arrays: then it is a loop over time, not over elements."""
        if loop not in self._launching:
            self._launching[loop] = any(isinstance(s, Loop) and self._is_nest(s) for s in walk(loop.body))
        return self._launching[loop]

    def _is_nest(self, loop: Loop) -> bool:
        return self._touches(loop.body) and (loop.parallel or self._turns.may_be_items(loop))

    def _refuse_in_loop(self, access: Load | Store) -> None:
        found = self._around(access)
        if found is not None:
            self._refuse_loop(*found)

    def _refuse_loop(self, loop: Loop, reason: str) -> None:
        raise UnsupportedError(
            f"this loop over elements of device arrays is no kernel: {reason}",
            "launch a kernel whose work items do not meet, or run it on NumPy arrays",
            loop.span,
        )

    # statements

    def stmt(self, stmt: Stmt) -> tuple[Stmt, ...]:
        if isinstance(stmt, Whole) and stmt.op not in _STEPS:
            spectrum = stmt.op.split("_")[0] in ("fft", "ifft", "rfft", "irfft")
            why = ": kernels have no complex numbers" if spectrum else ""
            raise UnsupportedError(
                f"'{stmt.op}' of whole device arrays{why}",
                "write it as a kernel, or call it on NumPy arrays",
                stmt.span,
            )
        if isinstance(stmt, Loop) and self._touches(stmt.body):
            return self._loop(stmt)
        rebuilt = self.rebuild(stmt)
        if isinstance(rebuilt, Loop) and rebuilt.parallel:
            rebuilt = replace(rebuilt, parallel=False)
        return (rebuilt,)

    def _touches(self, block: Block) -> bool:
        return any(isinstance(s, Load | Store) and not self.residence.on_host(s.array) for s in walk(block))

    def _in_order(self, loop: Loop) -> bool:
        """Whether each turn has kernels of its own: turns meet in sums, which one after another are not atomic."""
        inside = any(isinstance(s, Loop) and s.parallel for s in walk(loop.body))
        return inside and not loop.parallel and self._turns.of(loop).meet != frozenset()

    def _loop(self, loop: Loop) -> tuple[Stmt, ...]:
        try:
            if self._in_order(loop):
                raise NotItemsError("its turns add to the same elements", loop)
            return self.writer.nest(loop, self.residence.on_host)
        except NotItemsError as why:
            self._indices.append((loop, str(why)))
            try:
                rebuilt = self.rebuild(loop)
                assert isinstance(rebuilt, Loop)
                return (replace(rebuilt, parallel=False),)
            except UnsupportedError:
                if not loop.parallel:
                    raise
                raise UnsupportedError(
                    f"this parallel loop cannot be a kernel on a device: {why}",
                    "move that out of the kernel, or run it on NumPy arrays",
                    _span(why.stmt, loop, self._function),
                ) from None
            finally:
                self._indices.pop()


def _defines(stmt: Stmt) -> tuple[Sym, ...]:
    return (*targets(stmt), *inner_targets(stmt))


def _span(stmt: object, loop: Loop, function: Function) -> Span:
    """The place of a statement; that of the loop where it has none of its own."""
    span = getattr(stmt, "span", loop.span)
    return span if span.line > 0 and span != function.span else loop.span
