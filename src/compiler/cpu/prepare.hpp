// What the code generator rewrites in tt first, so that it meets fewer forms.
#pragma once

#include "compiler/dialect/tt/tt.hpp"

namespace teeny::compiler::cpu {

// Loads and stores through descriptors become masked accesses through pointers. Throws teeny::Error where a descriptor
// is not made in the function.
void lower_descriptors(tt::FuncOp function);

// A tensor of pointers or integers that an scf.for only moves by a uniform or unchanging amount becomes its first value
// plus a carried number, so that it needs no memory and its stride stays known.
void carry_numbers(tt::FuncOp function);

}  // namespace teeny::compiler::cpu
