/* The geometries that builders of acceleration structures read: each kind is a struct of its own, and they are given by pointers
 * to what all of them begin with. The experimental structs are those of the extension under other names. */
#include "capture/recorder/record.h"

enum { INDEX_SIZE = 4, VERTEX_SIZE = 12, MATRIX_SIZE = 48, ALIGNED_MATRIX_SIZE = 64 };

_Static_assert(sizeof(ze_rtas_builder_triangles_geometry_info_exp_t) ==
                       sizeof(ze_rtas_builder_triangles_geometry_info_ext_t) &&
                   sizeof(ze_rtas_builder_instance_geometry_info_exp_t) ==
                       sizeof(ze_rtas_builder_instance_geometry_info_ext_t) &&
                   sizeof(ze_rtas_builder_build_op_exp_desc_t) == sizeof(ze_rtas_builder_build_op_ext_desc_t),
               "both are laid out alike");

/* Elements in a row, or at a distance. */
static void copy_elements(gc_call *call, const void *from, uint32_t count, uint32_t stride, size_t size) {
    gc_copy(call, from, count == 0 ? 0 : (count - 1) * (size_t)(stride != 0 ? stride : size) + size, GC_BEFORE);
}

static void copy_triangles(gc_call *call, const ze_rtas_builder_triangles_geometry_info_ext_t *from) {
    gc_copy(call, from, sizeof *from, GC_BEFORE);
    if (!gc_readable(from, sizeof *from))
        return;
    copy_elements(call, from->pTriangleBuffer, from->triangleCount, from->triangleStride, 3 * INDEX_SIZE);
    copy_elements(call, from->pVertexBuffer, from->vertexCount, from->vertexStride, VERTEX_SIZE);
}

static void copy_quads(gc_call *call, const ze_rtas_builder_quads_geometry_info_ext_t *from) {
    gc_copy(call, from, sizeof *from, GC_BEFORE);
    if (!gc_readable(from, sizeof *from))
        return;
    copy_elements(call, from->pQuadBuffer, from->quadCount, from->quadStride, 4 * INDEX_SIZE);
    copy_elements(call, from->pVertexBuffer, from->vertexCount, from->vertexStride, VERTEX_SIZE);
}

static void copy_instance(gc_call *call, const ze_rtas_builder_instance_geometry_info_ext_t *from) {
    gc_copy(call, from, sizeof *from, GC_BEFORE);
    if (!gc_readable(from, sizeof *from))
        return;
    bool aligned = from->transformFormat == ZE_RTAS_BUILDER_INPUT_DATA_FORMAT_EXT_FLOAT3X4_ALIGNED_COLUMN_MAJOR;
    gc_copy(call, from->pTransform, aligned ? ALIGNED_MATRIX_SIZE : MATRIX_SIZE, GC_BEFORE);
    gc_copy(call, from->pBounds, sizeof *from->pBounds, GC_BEFORE);
}

static void copy_geometry(gc_call *call, const ze_rtas_builder_geometry_info_ext_t *from) {
    if (!gc_readable(from, sizeof *from))
        return;
    switch (from->geometryType) {
    case ZE_RTAS_BUILDER_GEOMETRY_TYPE_EXT_TRIANGLES:
        copy_triangles(call, (const void *)from);
        break;
    case ZE_RTAS_BUILDER_GEOMETRY_TYPE_EXT_QUADS:
        copy_quads(call, (const void *)from);
        break;
    case ZE_RTAS_BUILDER_GEOMETRY_TYPE_EXT_PROCEDURAL: /* its bounds come from a function of the program */
        gc_copy(call, from, sizeof(ze_rtas_builder_procedural_geometry_info_ext_t), GC_BEFORE);
        break;
    case ZE_RTAS_BUILDER_GEOMETRY_TYPE_EXT_INSTANCE:
        copy_instance(call, (const void *)from);
        break;
    default:
        call->incomplete = true;
        break;
    }
}

/* The host builds, so that what it reads there is read when the function is called. */
void gc_lead_ze_rtas_builder_build_op_ext_desc_t(gc_call *call, const void *at, gc_phase phase) {
    const ze_rtas_builder_build_op_ext_desc_t *from = at;
    size_t size = from->numGeometries * sizeof *from->ppGeometries;
    if (phase != GC_BEFORE)
        return;
    gc_copy(call, from->ppGeometries, size, phase);
    if (!gc_readable(from->ppGeometries, size))
        return;
    for (uint32_t each = 0; each < from->numGeometries; each++)
        copy_geometry(call, from->ppGeometries[each]);
}

void gc_lead_ze_rtas_builder_build_op_exp_desc_t(gc_call *call, const void *at, gc_phase phase) {
    gc_lead_ze_rtas_builder_build_op_ext_desc_t(call, at, phase);
}
