// Every binary operation for every element type it takes: all pairs of edges, broadcasting included.
#include "elementwise.hpp"

namespace teeny::conformance {

namespace {

struct Binary {
  Operation operation = Operation::add;
  int rows = 0, columns = 256;
  bool masked = true;
  bool propagate_nan = false;
  TEENY_PARAMETERS(x, y, z, n);

  template <class D, int R, int S>
  auto apply(tl::Tensor<D, R> a, tl::Tensor<D, S> b) const {
    if constexpr (tl::Float<D>) {
      if (propagate_nan) {
        if (operation == Operation::minimum) return tl::minimum(a, b, {.propagate_nan = true});
        return tl::maximum(a, b, {.propagate_nan = true});
      }
    }
    return apply_binary(operation, a, b);
  }

  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<const D> y, tl::Ptr<D> z, tl::i32 n) const {
    auto program = tl::program_id(0);
    if (columns == 0) {
      tl::store(z + program, apply(tl::load(x + program), tl::load(y + program)));
    } else if (rows == 0) {
      auto at = program * columns + tl::arange(0, columns);
      if (masked) {
        auto mask = at < n;
        tl::store(z + at, apply(tl::load(x + at, {.mask = mask}), tl::load(y + at, {.mask = mask})), {.mask = mask});
      } else {
        tl::store(z + at, apply(tl::load(x + at), tl::load(y + at)));
      }
    } else {  // a column meets a row
      auto row = tl::arange(0, rows)(tl::all, tl::none), column = tl::arange(0, columns)(tl::none, tl::all);
      tl::store(z + (row * columns + column), apply(tl::load(x + row), tl::load(y + column)));
    }
  }
};

// Division by zero has a result, 0, but the checker reports it: those pairs are launched without it, on devices that
// are not the interpreter, and compared with the reference alone.
template <class D>
void run_zero_divisors(const Device& device, Verdict& verdict, const OperationInfo& info) {
  Host<D> x, y;
  pairs<D>(1000, 3, x, y);
  for (std::size_t i = 0; i < y.size(); i += 3) y[i] = D(0);
  const Buffer<D> a = upload<D>(device, x), b = upload<D>(device, y);
  for (int columns : {256, 0}) {
    Buffer<D> output = blank<D>(device, 1008);
    const int count = columns == 0 ? 60 : 1000;
    launch(device, {columns == 0 ? 60 : 4}, Binary{info.operation, 0, columns}, a, b, output, count);
    compare_with_reference<D>(verdict, download(output), count, "zero divisors", [&](std::size_t i) {
      return binary_reference(info.operation, dtype_of<D>, real_of<D>(x[i]), real_of<D>(y[i]));
    });
  }
}

template <class D>
void run(const Device& device, Verdict& verdict, const OperationInfo& info, bool propagate_nan, int number) {
  const bool division = tl::Int<D> && (info.operation == Operation::div || info.operation == Operation::rem);
  if (division && device.info().spec != "interpreter") run_zero_divisors<D>(device, verdict, info);
  constexpr bool all = std::is_same_v<D, float> || std::is_same_v<D, std::int32_t>;
  for (const Layout& layout : layouts(device, number, all)) {
    Host<D> x, y;
    pairs<D>(layout.count, number, x, y);
    if (division)
      for (auto& divisor : y) divisor = divisor == D(0) ? D(3) : divisor;
    const Buffer<D> a = upload<D>(device, x), b = upload<D>(device, y);
    Buffer<D> output = blank<D>(device, layout.count + 8);
    expect_same(verdict, device, {layout.programs()},
                Binary{info.operation, layout.rows, layout.columns, layout.masked, propagate_nan}, a, b, output,
                layout.count);
    if (!verdict.ok()) return verdict.fail(std::string("in layout ") + layout.name);
    compare_with_reference<D>(verdict, download(output), x.size(), layout.name, [&](std::size_t i) {
      const std::size_t left = layout.rows ? i / layout.columns : i, right = layout.rows ? i % layout.columns : i;
      return binary_reference(info.operation, dtype_of<D>, real_of<D>(x[left]), real_of<D>(y[right]), propagate_nan);
    });
  }
}

}  // namespace

void add_binary_cases(Cases& cases) {
  for (const OperationInfo& info : operation_list) {
    if (info.kind != Kind::binary || info.elements == Elements::special) continue;
    for_each_type(all_types, [&]<class D> {
      if (!takes<D>(info)) return;
      const bool extreme = info.operation == Operation::minimum || info.operation == Operation::maximum;
      for (int propagate = 0; propagate <= (extreme && tl::Float<D> ? 1 : 0); ++propagate) {
        const int number = static_cast<int>(cases.size());
        cases.push_back({std::string("binary.") + info.name + (propagate ? ".propagate_nan." : ".") + dtype_name<D>(),
                         [info, number, propagate](const Device& device, Verdict& verdict) {
                           run<D>(device, verdict, info, propagate, number);
                         }});
      }
    });
  }
}

}  // namespace teeny::conformance
