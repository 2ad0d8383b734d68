/* table.c - the CPU's primitives of one real type as a table, from prims.def. */
#include "cpu/prims/prim.h"

void R(cpu_prims)(struct prims *out)
{
    *out = (struct prims){
#define PRIM(name, params) .name = R(prim_##name),
#define PRIM_MAY(name, params)
#include "tensor/prims.def"
#undef PRIM_MAY
#undef PRIM
    };
}
