// Passes that say, as remarks, what the analyses find: for tests and for people who read IR.
#pragma once

namespace teeny::compiler {

// --teeny-print-axis-info: a remark at every operation with an integer, boolean or pointer result.
// --teeny-print-blocks: a remark at every access: "block: …; bounds: …".
// --teeny-print-relevant-facts: a remark at every function with facts worth a variant.
void register_print_analysis_passes();

}  // namespace teeny::compiler
