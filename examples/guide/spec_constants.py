"""Specialization constants: numbers of the module that are decided when it is built."""

import groundstate as gs

# clang turns a call of this function, with a number and a default, into such a constant.
SOURCE = """
uint __attribute__((overloadable)) __spirv_SpecConstant(uint number, uint otherwise);

/* Each work-item writes its place in a box, whose sides are the constants, as decimal digits. */
kernel void place_in_box(global uint *places) {
    uint width = __spirv_SpecConstant(0u, 4u), height = __spirv_SpecConstant(1u, 4u);
    uint depth = __spirv_SpecConstant(2u, 4u), i = get_global_id(0);
    places[i] = 10000 * (i / width / height % depth) + 100 * (i / width % height) + i % width;
}
"""

ITEMS = 64

with gs.Context(gs.devices()[0]) as context:

    def show(name: str, constants: dict[int, int]) -> None:
        """Builds the module with some constants, and shows where the last item is."""
        places = context.alloc_shared(ITEMS, "uint32")
        kernel = gs.Module(context, opencl=SOURCE, constants=constants)["place_in_box"]
        with gs.CommandList.immediate(context) as commands:
            kernel(commands, 1, ITEMS, places)
        width, height, depth = (constants.get(number, 4) for number in range(3))
        assert places.tolist() == [
            10000 * (i // width // height % depth) + 100 * (i // width % height) + i % width
            for i in range(ITEMS)
        ]
        print(f"{name}: item {ITEMS - 1} is at {places.tolist()[-1]:06}")

    show("as written", {})
    show("overridden", {0: 16, 1: 2, 2: 2})
    show("one of them", {1: 16})  # those that are not named keep what the module says
