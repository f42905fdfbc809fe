"""C++ from PTX lines of threaded code, statement by statement: a CPU runs it for tests."""

from __future__ import annotations

import re
from collections.abc import Iterable


def statements(lines: Iterable[str]) -> list[str]:
    """Return PTX lines split into single instructions and labels."""
    parts: list[str] = []
    for line in lines:
        if line.startswith("//"):
            continue
        if line.endswith(":"):
            parts.append(line)
        else:
            parts += [f"{part};" for part in re.split(r";\s*", line) if part]
    return parts


_C_FORMS = {
    "mov": "{0} = {1};", "add": "{0} = {1} + {2};", "sub": "{0} = {1} - {2};",
    "and": "{0} = {1} & {2};", "or": "{0} = {1} | {2};", "xor": "{0} = {1} ^ {2};",
    "shl": "{0} = {1} << {2};", "shr.u32": "{0} = {1} >> {2};",
    "shr.s32": "{0} = (u32)((int){1} >> {2});",
    "selp": "{0} = {3} ? {1} : {2};", "mad": "{0} = (u64){1} * {2} + {3};",
    "setp.eq": "{0} = {1} == {2};", "setp.ne": "{0} = {1} != {2};",
    "setp.lt.s32": "{0} = (int){1} < {2};", "setp.ge.s32": "{0} = (int){1} >= {2};",
    "setp.lt": "{0} = {1} < {2};", "setp.ge": "{0} = {1} >= {2};",
    "setp.le": "{0} = (int){1} <= {2};", "bra": "goto {0};", "brx": "goto dispatch;",
    "ld.global.u8": "{0} = *(const u8*)({1});", "st": "*(u8*)({0}) = (u8){1};",
}  # fmt: skip


def as_cpp(statement: str) -> str:
    """Translate one PTX instruction or label to C++."""
    if statement.endswith(":"):
        return statement
    guard = ""
    if statement.startswith("@"):
        guard, statement = statement[1:].split(" ", 1)
        guard = f"if ({guard}) "
    name, rest = statement.rstrip(";").split(" ", 1)
    if name == "prmt.b32":  # in the two forms that set a byte of a pair
        pair, _, value, select = (part.strip() for part in rest.split(","))
        upper = int(select) == 0x3240
        kept, moved = ("255", f"({value} & 255) << 8") if upper else ("0xFF00", f"{value} & 255")
        return f"{pair} = ({pair} & {kept}) | ({moved});"
    if name == "brx.idx.uni" and rest.endswith("TO_EXIT"):
        return "goto EXIT;"
    if name == "ld.global.nc.v2.u32":
        first, second, place = re.findall(r"[\w+]+", rest)
        return f"{first} = ((const u32*)({place}))[0]; {second} = ((const u32*)({place}))[1];"
    if name == "ld.shared.v2.u32":  # of `pages`, whose address is 0 here
        first, second, place = re.findall(r"[\w+]+", rest)
        words = f"((const u32*)((const u8*)pages + {place}))"
        return f"{first} = {words}[0]; {second} = {words}[1];"
    if name == "mov.b64":
        whole, low, high = re.findall(r"\w+", rest)
        return f"{whole} = (u64){high} << 32 | {low};"
    operands = [part.strip().strip("[]") for part in rest.split(",")]
    form = next(form for key, form in _C_FORMS.items() if name == key or name.startswith(key + "."))
    return guard + form.format(*operands)
