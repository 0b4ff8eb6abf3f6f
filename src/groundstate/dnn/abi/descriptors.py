"""Memory descriptors behind their handles."""

from __future__ import annotations

import ctypes
import json

from groundstate.dnn import descriptor as descriptors
from groundstate.dnn.abi.api import (
    dims_array,
    dims_at,
    get,
    get_optional,
    give,
    handler,
    keep,
    need,
    take_back,
    write_int,
    write_long,
    write_pointer,
)
from groundstate.dnn.descriptor import MAX_NDIMS, ZERO, Descriptor, Sparse
from groundstate.dnn.errors import invalid, require, unimplemented
from groundstate.dnn.types import DataType, FormatKind, Query, SparseEncoding


def _dims(ndims: int, address: int) -> tuple[int, ...]:
    if ndims == 0:
        return ()
    require(0 < ndims <= MAX_NDIMS, f"a tensor has at most {MAX_NDIMS} dimensions")
    found = dims_at(address)
    if found is None:
        invalid("the dimensions are missing")
    return tuple(found[:ndims])


@handler
def dnnl_memory_desc_create_with_tag(
    memory_desc: int, ndims: int, dims: int, data_type: int, tag: int
) -> None:
    need(memory_desc)
    made = Descriptor.tagged(_dims(ndims, dims), data_type, tag)
    write_pointer(memory_desc, give(made))


@handler
def dnnl_memory_desc_create_with_strides(
    memory_desc: int, ndims: int, dims: int, data_type: int, strides: int
) -> None:
    need(memory_desc)
    chosen = _dims(ndims, strides) if strides else None
    made = Descriptor.plain(_dims(ndims, dims), data_type, chosen)
    write_pointer(memory_desc, give(made))


@handler
def dnnl_memory_desc_create_with_csr_encoding(
    memory_desc: int,
    ndims: int,
    dims: int,
    data_type: int,
    nnz: int,
    indices_dt: int,
    pointers_dt: int,
) -> None:
    need(memory_desc)
    types = (descriptors.type_of(indices_dt), descriptors.type_of(pointers_dt))
    sparse = Sparse(SparseEncoding.csr, nnz, types)
    write_pointer(memory_desc, give(Descriptor.encoded(_dims(ndims, dims), data_type, sparse)))


@handler
def dnnl_memory_desc_create_with_coo_encoding(
    memory_desc: int, ndims: int, dims: int, data_type: int, nnz: int, indices_dt: int
) -> None:
    need(memory_desc)
    sparse = Sparse(SparseEncoding.coo, nnz, (descriptors.type_of(indices_dt),))
    write_pointer(memory_desc, give(Descriptor.encoded(_dims(ndims, dims), data_type, sparse)))


@handler
def dnnl_memory_desc_create_with_packed_encoding(
    memory_desc: int, ndims: int, dims: int, data_type: int, nnz: int
) -> None:
    need(memory_desc)
    sparse = Sparse(SparseEncoding.packed, nnz)
    write_pointer(memory_desc, give(Descriptor.encoded(_dims(ndims, dims), data_type, sparse)))


@handler
def dnnl_memory_desc_create_host_scalar(memory_desc: int, data_type: int) -> None:
    need(memory_desc)
    write_pointer(memory_desc, give(Descriptor.host_scalar(data_type)))


@handler
def dnnl_memory_desc_create_submemory(
    memory_desc: int, parent_memory_desc: int, dims: int, offsets: int
) -> None:
    need(memory_desc)
    parent = get(parent_memory_desc, Descriptor)
    made = parent.part(_dims(parent.ndims, dims), _dims(parent.ndims, offsets))
    write_pointer(memory_desc, give(made))


@handler
def dnnl_memory_desc_reshape(
    out_memory_desc: int, in_memory_desc: int, ndims: int, dims: int
) -> None:
    need(out_memory_desc)
    made = get(in_memory_desc, Descriptor).reshaped(_dims(ndims, dims))
    write_pointer(out_memory_desc, give(made))


@handler
def dnnl_memory_desc_permute_axes(
    out_memory_desc: int, in_memory_desc: int, permutation: int
) -> None:
    need(out_memory_desc, permutation)
    source = get(in_memory_desc, Descriptor)
    order = (ctypes.c_int * source.ndims).from_address(permutation)
    write_pointer(out_memory_desc, give(source.permuted(tuple(order))))


@handler
def dnnl_memory_desc_clone(memory_desc: int, existing_memory_desc: int) -> None:
    need(memory_desc)
    existing = get(existing_memory_desc, Descriptor)
    write_pointer(memory_desc, give(existing))


@handler
def dnnl_memory_desc_destroy(memory_desc: int) -> None:
    take_back(memory_desc, Descriptor)


# --- Blobs ----------------------------------------------------------------------------------------


def _pack(described: Descriptor) -> bytes:
    sparse = described.sparse
    fields = [
        *(described.dims, described.data_type, described.kind, described.padded_dims),
        *(described.padded_offsets, described.strides, described.inner_blocks, described.offset),
        sparse and (sparse.encoding, sparse.nonzeros, sparse.metadata_types),
    ]
    text = json.dumps(fields, separators=(",", ":")).encode()
    return len(text).to_bytes(4, "little") + text


@handler
def dnnl_memory_desc_get_blob(blob: int, size: int, memory_desc: int) -> None:
    need(size)
    packed = _pack(get(memory_desc, Descriptor))
    if blob:
        room = ctypes.c_size_t.from_address(size).value
        require(room >= len(packed), f"there is room for {room} of {len(packed)} bytes")
        ctypes.memmove(blob, packed, len(packed))
    write_long(size, len(packed))


@handler
def dnnl_memory_desc_create_with_blob(memory_desc: int, blob: int) -> None:
    need(memory_desc, blob)
    length = int.from_bytes(ctypes.string_at(blob, 4), "little")
    require(2 < length < 4096, "this is not the blob of a descriptor")
    try:
        fields = json.loads(ctypes.string_at(blob + 4, length))
        dims, data_type, kind, padded, offsets, strides, blocks, offset, sparse = fields
    except ValueError:
        invalid("this is not the blob of a descriptor")
    made = Descriptor(
        tuple(dims),
        DataType(data_type),
        FormatKind(kind),
        tuple(padded),
        tuple(offsets),
        tuple(strides),
        tuple((size, dim) for size, dim in blocks),
        offset,
        sparse and Sparse(SparseEncoding(sparse[0]), sparse[1], tuple(map(DataType, sparse[2]))),
    )
    write_pointer(memory_desc, give(made))


# --- Questions ------------------------------------------------------------------------------------


@handler
def dnnl_memory_desc_query(memory_desc: int, what: int, result: int) -> None:
    found = get(memory_desc, Descriptor)
    need(result)
    arrays = {
        Query.dims: found.dims,
        Query.padded_dims: found.padded_dims,
        Query.padded_offsets: found.padded_offsets,
        Query.strides: found.strides,
        Query.inner_blks: tuple(size for size, _ in found.inner_blocks),
        Query.inner_idxs: tuple(dim for _, dim in found.inner_blocks),
    }
    numbers: dict[int, int] = {
        Query.ndims_s32: found.ndims,
        Query.data_type: found.data_type,
        Query.format_kind: found.kind,
        Query.inner_nblks_s32: len(found.inner_blocks),
    }
    layout = (Query.strides, Query.inner_blks, Query.inner_idxs, Query.inner_nblks_s32)
    require(what not in layout or found.is_blocked, "this descriptor has no strides or blocks")
    if what in arrays:
        address = keep(memory_desc, what, dims_array(arrays[Query(what)]))
        write_pointer(result, address)
    elif what in numbers:
        write_int(result, numbers[what])
    elif what == Query.submemory_offset_s64:
        write_long(result, found.offset)
    else:
        unimplemented(f"query {what} is not one for memory descriptors")


@handler
def dnnl_memory_desc_query_v2(memory_desc: int, what: int, index: int, result: int) -> None:
    found = get(memory_desc, Descriptor)
    need(result)
    sparse = found.sparse
    require(
        index <= 0 or (sparse is not None and what == Query.data_type),
        "only sparse tensors have other buffers, which can be asked for their type",
    )
    if what == Query.num_handles_s32:
        write_int(result, found.handles)
    elif what in (Query.sparse_encoding, Query.nnz_s64):
        if sparse is None:
            invalid("the tensor is not sparse")
        if what == Query.nnz_s64:
            write_long(result, sparse.nonzeros)
        else:
            write_int(result, sparse.encoding)
    elif what == Query.data_type and sparse is not None and index > 0:
        place = 0 if sparse.encoding == SparseEncoding.coo else index - 1
        require(place < len(sparse.metadata_types), f"there is no buffer {index}")
        write_int(result, sparse.metadata_types[place])
    else:
        dnnl_memory_desc_query(memory_desc, what, result)


@handler
def dnnl_memory_desc_equal(lhs: int, rhs: int) -> int:
    if lhs == rhs:
        return 1
    one, two = get_optional(lhs, Descriptor), get_optional(rhs, Descriptor)
    return int(one is not None and two is not None and one.same_as(two))


@handler
def dnnl_memory_desc_get_size(memory_desc: int) -> int:
    return (get_optional(memory_desc, Descriptor) or ZERO).size_bytes()


@handler
def dnnl_memory_desc_get_size_v2(memory_desc: int, index: int) -> int:
    return (get_optional(memory_desc, Descriptor) or ZERO).size_bytes(index)


@handler
def dnnl_data_type_size(data_type: int) -> int:
    return descriptors.data_type_size(data_type)
