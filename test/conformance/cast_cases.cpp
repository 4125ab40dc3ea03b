// Every pair of element types through cast, and through bitcast where the widths are equal.
#include "elementwise.hpp"

namespace teeny::conformance {

namespace {

// One kernel for each source type, with an output for each target; `target` says which is written.
struct Cast {
  DType target = DType::f32;
  bool bits = false;
  int columns = 256;

  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<bool> b, tl::Ptr<std::int8_t> i8, tl::Ptr<std::int16_t> i16,
                  tl::Ptr<std::int32_t> i32, tl::Ptr<std::int64_t> i64, tl::Ptr<std::uint8_t> u8,
                  tl::Ptr<std::uint16_t> u16, tl::Ptr<std::uint32_t> u32, tl::Ptr<std::uint64_t> u64, tl::Ptr<half> f16,
                  tl::Ptr<bfloat16> bf16, tl::Ptr<float> f32, tl::Ptr<double> f64, tl::i32 n) const {
    auto all = [&](auto... outputs) { (convert(x, outputs, n), ...); };
    all(b, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64);
  }

 private:
  template <class E, int R, class D>
  tl::Tensor<E, R> value(tl::Tensor<D, R> x) const {
    if constexpr (bits_of(dtype_of<D>) == bits_of(dtype_of<E>) && !std::is_same_v<E, bool>)
      if (bits) return tl::bitcast<E>(x);
    return tl::cast<E>(x);
  }
  template <class D, class E>
  void convert(tl::Ptr<const D> x, tl::Ptr<E> y, tl::i32 n) const {
    if (dtype_of<E> != target) return;
    if (columns == 0) {
      auto at = tl::program_id(0);
      tl::store(y + at, value<E>(tl::load(x + at)));
    } else {
      auto at = tl::program_id(0) * columns + tl::arange(0, columns);
      auto mask = at < n;
      tl::store(y + at, value<E>(tl::load(x + at, {.mask = mask})), {.mask = mask});
    }
  }
};

// Runs the cast into the output of type `target`; the others are small.
template <class D>
void run(const Device& device, Verdict& verdict, DType target, bool bits) {
  const Host<D> x = values<D>(1000, 11);
  for (int columns : {256, 0, 9}) {
    if (!takes_blocks(device, columns)) continue;
    const int count = columns == 0 ? 64 : 1000, programs = columns == 0 ? 64 : (1000 + columns - 1) / columns;
    const Buffer<D> input = upload<D>(device, x);
    std::vector<std::byte> got;
    [&]<class... E>(Types<E...>) {
      std::tuple<Buffer<E>...> outputs{blank<E>(device, dtype_of<E> == target ? 1008 : 4)...};
      expect_same(verdict, device, {programs}, Cast{target, bits, columns}, input, std::get<Buffer<E>>(outputs)...,
                  count);
      got.resize(1008 * size_of(target));
      for (const AnyBuffer& output : {AnyBuffer(std::get<Buffer<E>>(outputs))...})
        if (output.dtype() == target) detail::copy_out(output.view(), got.data(), got.size());
    }(all_types);
    if (!verdict.ok()) return;
    if (bits) {
      if (std::memcmp(got.data(), x.data(), count * sizeof(D)) != 0) return verdict.fail("bitcast changed bits");
      continue;
    }
    compare_with_reference(verdict, target, got.data(), count, "cast", [&](std::size_t i) -> std::optional<Expected> {
      return cast_reference(dtype_of<D>, target, real_of<D>(x[i]));
    });
  }
}

}  // namespace

void add_cast_cases(Cases& cases) {
  for_each_type(all_types, [&]<class D> {
    for (int number = 0; number <= static_cast<int>(DType::f64); ++number) {
      const DType target = static_cast<DType>(number);
      const std::string pair = dtype_name<D>() + "_to_" + name_of(target);
      cases.push_back({"cast." + pair,
                       [target](const Device& device, Verdict& verdict) { run<D>(device, verdict, target, false); }});
      const bool masks = std::is_same_v<D, bool> || target == DType::boolean;
      if (bits_of(dtype_of<D>) == bits_of(target) && dtype_of<D> != target && !masks)
        cases.push_back({"bitcast." + pair,
                         [target](const Device& device, Verdict& verdict) { run<D>(device, verdict, target, true); }});
    }
  });
}

}  // namespace teeny::conformance
