// Every kernel of the suite with its constants and element types, recorded: visit(name, recording).
#pragma once

#include "elementwise.hpp"
#include "everything.hpp"
#include "matrix.hpp"
#include "rows.hpp"
#include "variables.hpp"

namespace kernels {

template <class Visit>
void for_each_recording(Visit&& visit) {
  using teeny::bfloat16;
  using teeny::half;
  using teeny::record;
  visit("vector_add f32", record<float>(VectorAdd{}));
  visit("vector_add f16 256", record<half>(VectorAdd{.BLOCK = 256}));
  visit("vector_add bf16 100", record<bfloat16>(VectorAdd{.BLOCK = 100}));
  visit("map", record(Map{.BLOCK = 64, .f = [](auto x) { return x * 2; }}));
  visit("dropout", record<float>(Dropout{}));
  visit("rotary", record<bfloat16>(Rotary{}));
  visit("rotary backward", record<float>(Rotary{.BACKWARD = true}));
  visit("histogram", record(Histogram{}));
  visit("softmax f32", record<float>(Softmax{}));
  visit("softmax f16", record<half>(Softmax{.BLOCK = 512}));
  visit("softmax persistent", record<half>(SoftmaxPersistent{}));
  visit("softmax tile", record<float>(SoftmaxTile{}));
  visit("softmax tile log", record<float>(SoftmaxTile{.LOG = true}));
  visit("layer norm", record<half>(LayerNorm{}));
  visit("layer norm backward", record<half>(LayerNormBackward{}));
  visit("cross entropy", record<bfloat16>(CrossEntropy{}));
  visit("top k", record<bfloat16>(TopK{.K = 2}));
  visit("linear recurrence", record(LinearRecurrence{}));
  visit("arg extremes", record(ArgExtremes{}));
  visit("matmul f32", record<float, float>(MatMul{.BM = 64, .BN = 64}));
  visit("matmul bf16", record<bfloat16, float>(MatMul{}));
  visit("matmul f16 gelu", record<half, half>(MatMul{.epilogue = Gelu{}}));
  visit("matmul lambda",
        record<float, float>(MatMul{
            .STAGES = 3, .PRECISION = tl::Precision::fast, .epilogue = [](auto x) { return tl::maximum(x, 0) * 2; }}));
  visit("matmul i8", record<std::int8_t, std::int32_t>(MatMul{}));
  visit("matmul descriptor", record<bfloat16>(MatMulDescriptor{}));
  visit("batch matmul", record(BatchMatMul{}));
  visit("int4 matmul", record(Int4MatMul{}));
  visit("attention", record<half>(Attention{}));
  visit("attention causal", record<float>(Attention{.CAUSAL = true}));
  visit("statistics", record(Statistics{}));
  visit("nested", record(Nested{}));
  visit("early return", record(EarlyReturn{}));
  visit("every float function", record<float>(EveryFloatFunction{}));
  visit("every float function f16", record<half>(EveryFloatFunction{}));
  visit("every integer function", record<std::int32_t>(EveryIntegerFunction{}));
  visit("every integer function u8", record<std::uint8_t>(EveryIntegerFunction{}));
  visit("every cast", record<float, std::int8_t>(EveryCast{}));
  visit("every bitcast", record(EveryBitcast{}));
  visit("every shape", record(EveryShape{}));
  visit("every reduction", record(EveryReduction{}));
  visit("every atomic", record(EveryAtomic{}));
  visit("every hint", record(EveryHint{}));
}

}  // namespace kernels
