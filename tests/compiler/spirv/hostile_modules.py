"""Modules that are made to crash, to hang or to exhaust a compiler, by name: `MODULES`.

Most break no rule of SPIR-V: they ask for too much. Those that take a number are large but for
that harmless, and are compiled; ten times the number still is, in a minute or so.
"""

from __future__ import annotations

from tests.compiler.spirv.assembler import assemble

HEAD = """
OpCapability Addresses
OpCapability Kernel
OpCapability Linkage
OpCapability Int8
OpCapability Int64
OpCapability GenericPointer
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %k "k" %gid
OpDecorate %gid BuiltIn GlobalInvocationId
"""
TYPES = """
%void = OpTypeVoid
%bool = OpTypeBool
%uchar = OpTypeInt 8 0
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%one = OpConstant %uint 1
%zero = OpConstant %uint 0
%wide_zero = OpConstant %ulong 0
%true = OpConstantTrue %bool
%many = OpConstant %ulong 1099511627776
%some = OpConstant %ulong 4000000
%ptr = OpTypePointer CrossWorkgroup %uint
%plain = OpTypeFunction %void %ptr
%v3 = OpTypeVector %ulong 3
%p_v3 = OpTypePointer Input %v3
%gid = OpVariable %p_v3 Input
"""
START = """
%k = OpFunction %void None %plain
%out = OpFunctionParameter %ptr
%entry = OpLabel
"""
END = """
OpReturn
OpFunctionEnd
"""
SUM = """
%id3 = OpLoad %v3 %gid
%id = OpCompositeExtract %ulong %id3 0
%sum = OpUConvert %uint %id
"""


def module(body: str, types: str = "", modes: str = "", functions: str = "") -> bytes:
    """A kernel with some lines in it, between its label and its return."""
    head = HEAD.replace("OpDecorate", f"{modes}\nOpDecorate")
    return assemble(head + TYPES + types + START + body + END + functions)


def private_array() -> bytes:
    """More private memory than a machine has addresses for."""
    types = "%array = OpTypeArray %uint %many\n%p_array = OpTypePointer Function %array\n"
    types += "%p_uint = OpTypePointer Function %uint"
    return module(
        """
        %a = OpVariable %p_array Function
        %at = OpLoad %uint %out Aligned 4
        %place = OpInBoundsAccessChain %p_uint %a %at
        OpStore %place %one
        %back = OpLoad %uint %place
        OpStore %out %back Aligned 4
        """,
        types,
    )


def local_array() -> bytes:
    """More local memory than there is."""
    types = "%array = OpTypeArray %uint %many\n%p_array = OpTypePointer Workgroup %array\n"
    types += "%p_uint = OpTypePointer Workgroup %uint\n%a = OpVariable %p_array Workgroup"
    return module(
        "%place = OpInBoundsAccessChain %p_uint %a %zero\nOpStore %place %one Aligned 4", types
    )


def program_array() -> bytes:
    """A variable of the program that fills all memory with zeros."""
    types = "%array = OpTypeArray %uint %many\n%p_array = OpTypePointer CrossWorkgroup %array\n"
    types += "%null = OpConstantNull %array\n%a = OpVariable %p_array CrossWorkgroup %null"
    return module(
        "%place = OpInBoundsAccessChain %ptr %a %zero\nOpStore %place %one Aligned 4", types
    )


def array_by_value() -> bytes:
    """An array of millions of numbers, loaded and stored as one value."""
    types = "%array = OpTypeArray %uint %some\n%p_array = OpTypePointer CrossWorkgroup %array"
    return module(
        """
        %from = OpBitcast %p_array %out
        %all = OpLoad %array %from Aligned 4
        OpStore %from %all Aligned 4
        """,
        types,
    )


def array_of_constants() -> bytes:
    """An array of arrays of arrays of zeros, made from few words."""
    types, inner = "", "%uint"
    zero = "%zero"
    for level in range(9):
        types += f"%n{level} = OpConstant %uint 10\n%t{level} = OpTypeArray {inner} %n{level}\n"
        types += f"%c{level} = OpConstantComposite %t{level} {' '.join([zero] * 10)}\n"
        inner, zero = f"%t{level}", f"%c{level}"
    types += "%p = OpTypePointer CrossWorkgroup %t8\n%v = OpVariable %p CrossWorkgroup %c8"
    return module(
        f"%place = OpInBoundsAccessChain %ptr %v {'%zero ' * 9}\nOpStore %place %one Aligned 4",
        types,
    )


def calls_that_double() -> bytes:
    """Functions that each call the next one twice: 2^40 calls."""
    functions = ""
    for level in range(40):
        call = f"OpFunctionCall %void %f{level + 1} %p{level}"
        functions += f"%f{level} = OpFunction %void None %plain\n"
        functions += f"%p{level} = OpFunctionParameter %ptr\n%l{level} = OpLabel\n"
        functions += f"%a{level} = {call}\n%b{level} = {call}\nOpReturn\nOpFunctionEnd\n"
    functions += "%f40 = OpFunction %void None %plain\n%p40 = OpFunctionParameter %ptr\n"
    functions += "%l40 = OpLabel\nOpStore %p40 %one Aligned 4\nOpReturn\nOpFunctionEnd\n"
    return module("%call = OpFunctionCall %void %f0 %out", functions=functions)


def recursion() -> bytes:
    """A function that calls itself."""
    functions = """
        %f = OpFunction %void None %plain
        %p = OpFunctionParameter %ptr
        %l = OpLabel
        %again = OpFunctionCall %void %f %p
        OpReturn
        OpFunctionEnd
        """
    return module("%call = OpFunctionCall %void %f %out", functions=functions)


def long_chain_of_blocks(count: int = 30_000) -> bytes:
    """Very many blocks, one behind the other, each of which may leave."""
    lines = [SUM, "%odd = OpIEqual %bool %sum %one"]
    for number in range(count):
        lines.append(f"OpBranchConditional %odd %b{number} %end\n%b{number} = OpLabel")
    lines.append("OpBranch %end\n%end = OpLabel")
    return module("\n".join(lines))


def nested_loops(depth: int = 2000) -> bytes:
    """Loops within loops within loops."""
    lines = [SUM, "%odd = OpIEqual %bool %sum %one"]
    for number in range(depth):
        lines.append(f"OpBranch %head{number}\n%head{number} = OpLabel")
    for number in reversed(range(depth)):
        lines.append(f"OpBranchConditional %odd %head{number} %after{number}")
        lines.append(f"%after{number} = OpLabel")
    return module("\n".join(lines))


def tangle(count: int = 150) -> bytes:
    """Blocks that lead to each other without any order: no loop has one head."""
    lines = [SUM, "%odd = OpIEqual %bool %sum %one", "OpBranch %b0"]
    for number in range(count):
        far, near = (number * 7 + 3) % count, (number * 13 + 5) % count
        lines.append(f"%b{number} = OpLabel")
        other = "%end" if number % 17 == 0 else f"%b{near}"
        lines.append(f"OpBranchConditional %odd %b{far} {other}")
    lines.append("%end = OpLabel")
    return module("\n".join(lines))


def large_switch(count: int = 3000) -> bytes:
    """A switch with very many cases."""
    cases = " ".join(f"{number} %b{number % 3}" for number in range(count))
    lines = [SUM, f"OpSwitch %sum %end {cases}"]
    lines += [f"%b{number} = OpLabel\nOpBranch %end" for number in range(3)]
    return module("\n".join([*lines, "%end = OpLabel"]))


def deep_structures(depth: int = 3000) -> bytes:
    """A structure in a structure in a structure."""
    types, inner = "", "%uint"
    for level in range(depth):
        types += f"%s{level} = OpTypeStruct {inner} %uint\n"
        inner = f"%s{level}"
    types += f"%p_deep = OpTypePointer CrossWorkgroup {inner}"
    return module(
        f"%from = OpBitcast %p_deep %out\n%all = OpLoad {inner} %from Aligned 4\n"
        "OpStore %from %all Aligned 4",
        types,
    )


def deep_expression(depth: int = 2000) -> bytes:
    """A value that was made from one that was made from one..."""
    lines = [SUM, "%x0 = OpIAdd %uint %sum %one"]
    lines += [f"%x{n + 1} = OpIMul %uint %x{n} %x{n}" for n in range(depth)]
    return module("\n".join([*lines, f"OpStore %out %x{depth} Aligned 4"]))


def group_of_all_numbers() -> bytes:
    """A group size that no device has."""
    return module("", modes="OpExecutionMode %k LocalSize 4294967295 4294967295 4294967295")


def group_of_none() -> bytes:
    """A group size without work-items."""
    return module("", modes="OpExecutionMode %k LocalSize 0 1 1")


def endless_loop() -> bytes:
    """A kernel that never ends: compiled, for it is not the compiler's to judge."""
    return module("OpBranch %again\n%again = OpLabel\nOpBranch %again\n%never = OpLabel")


def function_as_argument() -> bytes:
    """An argument whose type is that of a function."""
    text = HEAD + TYPES + "%odd = OpTypeFunction %void %plain\n"
    text += "%k = OpFunction %void None %odd\n%f = OpFunctionParameter %plain\n%l = OpLabel\n"
    return assemble(text + "OpReturn\nOpFunctionEnd")


def phis_of_many(count: int = 500) -> bytes:
    """A block with very many ways in, and values that differ by the way."""
    lines = [SUM, "%odd = OpIEqual %bool %sum %one"]
    lines += [f"%x{number} = OpIAdd %uint %sum %one" for number in range(20)]
    ways = []
    for number in range(count):
        block = f"%b{number - 1}" if number else "%entry"
        lines.append(f"OpBranchConditional %odd %b{number} %end\n%b{number} = OpLabel")
        ways.append(f"%x{number % 20} {block}")
    lines.append("OpBranch %end\n%end = OpLabel")
    ways.append(f"%one %b{count - 1}")
    lines += [f"%phi{number} = OpPhi %uint {' '.join(ways)}" for number in range(5)]
    lines += [f"OpStore %out %phi{number} Aligned 4" for number in range(5)]
    return module("\n".join(lines))


def values_that_live_long(count: int = 300) -> bytes:
    """Very many values, all of which are needed at the very end."""
    lines = [SUM, "%odd = OpIEqual %bool %sum %one"]
    for number in range(count):
        lines.append(f"%x{number} = OpIAdd %uint %sum %one")
        lines.append(f"OpBranchConditional %odd %b{number} %c{number}\n%b{number} = OpLabel")
        lines.append(
            f"OpStore %out %x{number} Aligned 4\nOpBranch %c{number}\n%c{number} = OpLabel"
        )
    lines += [f"OpStore %out %x{number} Aligned 4" for number in range(count)]
    return module("\n".join(lines))


def large_argument() -> bytes:
    """A structure of a terabyte, passed by value."""
    text = HEAD + TYPES + "%array = OpTypeArray %uchar %many\n%s = OpTypeStruct %array\n"
    text += "%odd = OpTypeFunction %void %s\n"
    text += "%k = OpFunction %void None %odd\n%f = OpFunctionParameter %s\n%l = OpLabel\n"
    return assemble(text + "OpReturn\nOpFunctionEnd")


def constant_of_itself() -> bytes:
    """A specialization constant that is computed from itself."""
    types = "%a = OpSpecConstantOp %uint IAdd %b %one\n%b = OpSpecConstantOp %uint IAdd %a %one"
    return module("OpStore %out %a Aligned 4", types)


def address_of_itself() -> bytes:
    """An address that is computed from itself."""
    types = "%p_ulong = OpTypePointer Input %ulong"
    return module(
        """
        %a = OpInBoundsAccessChain %p_ulong %b %zero
        %b = OpBitcast %p_ulong %a
        %x = OpLoad %ulong %b
        """,
        types,
    )


def addresses_of_each_other() -> bytes:
    """The same in two blocks, of which each comes first."""
    types = "%p_ulong = OpTypePointer Input %ulong"
    return module(
        f"""
        {SUM}
        %odd = OpIEqual %bool %sum %one
        OpBranchConditional %odd %left %right
        %left = OpLabel
        %a = OpBitcast %p_ulong %b
        OpBranch %right
        %right = OpLabel
        %b = OpBitcast %p_ulong %a
        %x = OpLoad %ulong %b
        OpBranchConditional %odd %left %end
        %end = OpLabel
        """,
        types,
    )


def addresses_that_nothing_reaches() -> bytes:
    """The same where no path leads: that is no mistake, and no reason to hang."""
    types = "%p_ulong = OpTypePointer Input %ulong"
    return module(
        """
        OpBranch %end
        %left = OpLabel
        %a = OpBitcast %p_ulong %b
        %x = OpLoad %ulong %a
        OpBranch %right
        %right = OpLabel
        %b = OpBitcast %p_ulong %a
        %y = OpLoad %ulong %b
        OpBranch %left
        %end = OpLabel
        """,
        types,
    )


def nested_selections(depth: int = 200_000) -> bytes:
    """Selections within selections."""
    lines = [SUM, "%odd = OpIEqual %bool %sum %one"]
    for number in range(depth):
        lines.append(f"OpSelectionMerge %m{number} None\nOpBranchConditional %odd %b{number} ")
        lines[-1] += f"%m{number}\n%b{number} = OpLabel"
    for number in reversed(range(depth)):
        lines.append(f"OpBranch %m{number}\n%m{number} = OpLabel")
    return module("\n".join(lines))


def structures_of_nothing(depth: int = 100) -> bytes:
    """Empty structures that contain each other twice: no bytes, and more members than atoms."""
    types = "%s0 = OpTypeStruct\n"
    types += "".join(f"%s{n + 1} = OpTypeStruct %s{n} %s{n}\n" for n in range(depth))
    types += f"%p_deep = OpTypePointer Function %s{depth}"
    return module("%a = OpVariable %p_deep Function", types)


def functions_of_functions(depth: int = 60) -> bytes:
    """Functions that take two pointers to functions that take two pointers to functions..."""
    types = "%f0 = OpTypeFunction %void\n"
    for n in range(depth):
        types += f"%p{n} = OpTypePointer CodeSectionINTEL %f{n}\n"
        types += f"%f{n + 1} = OpTypeFunction %void %p{n} %p{n}\n"
    return module("", types)


def constant_of_copies(depth: int = 20, count: int = 20) -> bytes:
    """Variables of megabytes, each of which starts as the same few numbers, over and over."""
    types = "%a0 = OpTypeVector %uint 2\n%c0 = OpConstantComposite %a0 %one %one\n"
    types += "%two = OpConstant %uint 2\n"
    for n in range(depth):
        types += f"%a{n + 1} = OpTypeArray %a{n} %two\n"
        types += f"%c{n + 1} = OpConstantComposite %a{n + 1} %c{n} %c{n}\n"
    types += f"%p_deep = OpTypePointer CrossWorkgroup %a{depth}\n"
    types += "".join(f"%g{n} = OpVariable %p_deep CrossWorkgroup %c{depth}\n" for n in range(count))
    return module("", types)


def casts_in_a_row(count: int = 10_000) -> bytes:
    """An address that is cast, and cast, and cast."""
    lines = ["%x0 = OpBitcast %ptr %out"]
    lines += [f"%x{n + 1} = OpBitcast %ptr %x{n}" for n in range(count)]
    return module("\n".join([*lines, f"OpStore %x{count} %one Aligned 4"]))


def copies_in_a_row(count: int = 10_000) -> bytes:
    """A value that is copied, and copied, and copied."""
    lines = ["%x0 = OpLoad %uint %out Aligned 4"]
    lines += [f"%x{n + 1} = OpCopyObject %uint %x{n}" for n in range(count)]
    return module("\n".join([*lines, f"OpStore %out %x{count} Aligned 4"]))


def _loop(lines: list[str]) -> bytes:
    """A loop that counts, with some lines in it."""
    start = f"{SUM}\nOpBranch %head\n%head = OpLabel\n%i = OpPhi %uint %zero %entry %next %body\n"
    start += "%more = OpULessThan %bool %i %sum\nOpBranchConditional %more %body %done\n"
    end = "%next = OpIAdd %uint %i %one\nOpBranch %head\n%done = OpLabel"
    return module("\n".join([start + "%body = OpLabel", *lines, end]))


def doubling_in_a_loop(count: int = 60) -> bytes:
    """An index that is the sum of one number with itself, which is such a sum, too."""
    lines = ["%x0 = OpIAdd %uint %i %one"]
    lines += [f"%x{n + 1} = OpIAdd %uint %x{n} %x{n}" for n in range(count)]
    lines += [f"%w = OpUConvert %ulong %x{count}", "%p = OpInBoundsPtrAccessChain %ptr %out %w"]
    return _loop([*lines, "OpStore %p %one Aligned 4"])


def sums_in_a_loop(count: int = 2000) -> bytes:
    """An index that is the sum of a sum of a sum..."""
    lines = ["%x0 = OpIAdd %uint %i %one"]
    lines += [f"%x{n + 1} = OpIAdd %uint %x{n} %one" for n in range(count)]
    lines += [f"%w = OpUConvert %ulong %x{count}", "%p = OpInBoundsPtrAccessChain %ptr %out %w"]
    return _loop([*lines, "OpStore %p %one Aligned 4"])


def shift_by_all(number: str = "%many") -> bytes:
    """A shift by more bits than any number has, next to an address."""
    return _loop(
        [
            "%w = OpUConvert %ulong %i",
            f"%x = OpShiftLeftLogical %ulong %w {number}",
            f"%y = OpBitwiseOr %ulong %x {number}",
            "%p = OpInBoundsPtrAccessChain %ptr %out %y",
            "OpStore %p %one Aligned 4",
        ]
    )


def products_in_a_row(count: int = 2000) -> bytes:
    """Distances between lanes that grow beyond all numbers."""
    lines = [SUM, "%x0 = OpIMul %ulong %id %many"]
    lines += [f"%x{n + 1} = OpIMul %ulong %x{n} %many" for n in range(count)]
    lines += [f"%p = OpInBoundsPtrAccessChain %ptr %out %x{count}", "OpStore %p %one Aligned 4"]
    return module("\n".join(lines))


def name_with_a_new_line() -> bytes:
    """The name of a kernel that would go on as LLVM IR."""
    name = "k?define void @injected() { ret void }"
    plain = assemble(HEAD.replace('"k"', f'"{name}"') + TYPES + START + END)
    return plain.replace(name.encode(), name.replace("?", "\n").encode())


def variables_in_loops(count: int = 3000, depth: int = 90) -> bytes:
    """Few words, but each variable has another value in each of the loops."""
    lines = [f"%var{i} = OpVariable %p_uint Function" for i in range(count)]
    lines += [SUM, "%stop = OpIEqual %bool %sum %one"]
    lines += [f"OpStore %var{i} %sum" for i in range(count)]
    for i in range(depth):
        lines += [f"OpBranch %head{i}", f"%head{i} = OpLabel", f"OpLoopMerge %end{i} %next{i} None"]
        lines += [f"OpBranchConditional %stop %end{i} %body{i}", f"%body{i} = OpLabel"]
    lines += [f"%old{i} = OpLoad %uint %var{i}" for i in range(count)]
    lines += [f"OpStore %var{i - 1} %old{i}" for i in range(1, count)]
    for i in reversed(range(depth)):
        lines += [f"OpBranch %next{i}", f"%next{i} = OpLabel"]
        lines += [f"OpBranch %head{i}", f"%end{i} = OpLabel"]
    lines += ["%last = OpLoad %uint %var0", "OpStore %out %last Aligned 4"]
    return module("\n".join(lines), "%p_uint = OpTypePointer Function %uint")


MODULES = {
    make.__name__: make
    for make in (
        private_array,
        local_array,
        program_array,
        array_by_value,
        array_of_constants,
        calls_that_double,
        recursion,
        long_chain_of_blocks,
        nested_loops,
        tangle,
        large_switch,
        phis_of_many,
        values_that_live_long,
        deep_structures,
        deep_expression,
        group_of_all_numbers,
        group_of_none,
        endless_loop,
        function_as_argument,
        large_argument,
        constant_of_itself,
        address_of_itself,
        addresses_of_each_other,
        addresses_that_nothing_reaches,
        nested_selections,
        name_with_a_new_line,
        structures_of_nothing,
        functions_of_functions,
        constant_of_copies,
        casts_in_a_row,
        copies_in_a_row,
        doubling_in_a_loop,
        sums_in_a_loop,
        shift_by_all,
        products_in_a_row,
        variables_in_loops,
    )
}
