// Every comparison for every element type.
#include "elementwise.hpp"

namespace teeny::conformance {

namespace {

struct Comparison {
  Operation operation = Operation::lt;
  int rows = 0, columns = 256;
  bool masked = true;
  TEENY_PARAMETERS(x, y, z, n);

  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<const D> y, tl::Ptr<bool> z, tl::i32 n) const {
    auto program = tl::program_id(0);
    if (columns == 0) {
      tl::store(z + program, apply_comparison(operation, tl::load(x + program), tl::load(y + program)));
    } else if (rows == 0) {
      auto at = program * columns + tl::arange(0, columns);
      if (masked) {
        auto mask = at < n;
        tl::store(z + at,
                  apply_comparison(operation, tl::load(x + at, {.mask = mask}), tl::load(y + at, {.mask = mask})),
                  {.mask = mask});
      } else {
        tl::store(z + at, apply_comparison(operation, tl::load(x + at), tl::load(y + at)));
      }
    } else {
      auto row = tl::arange(0, rows)(tl::all, tl::none), column = tl::arange(0, columns)(tl::none, tl::all);
      tl::store(z + (row * columns + column), apply_comparison(operation, tl::load(x + row), tl::load(y + column)));
    }
  }
};

template <class D>
void run(const Device& device, Verdict& verdict, const OperationInfo& info, int number) {
  constexpr bool all = std::is_same_v<D, float> || std::is_same_v<D, std::int32_t>;
  for (const Layout& layout : layouts(device, number, all)) {
    Host<D> x, y;
    pairs<D>(layout.count, number, x, y);
    const Buffer<D> a = upload<D>(device, x), b = upload<D>(device, y);
    Buffer<bool> output = blank<bool>(device, layout.count + 8);
    expect_same(verdict, device, {layout.programs()},
                Comparison{info.operation, layout.rows, layout.columns, layout.masked}, a, b, output, layout.count);
    if (!verdict.ok()) return verdict.fail(std::string("in layout ") + layout.name);
    compare_with_reference<bool>(
        verdict, download(output), x.size(), layout.name, [&](std::size_t i) -> std::optional<Expected> {
          const std::size_t left = layout.rows ? i / layout.columns : i, right = layout.rows ? i % layout.columns : i;
          const auto holds = comparison_reference(info.operation, real_of<D>(x[left]), real_of<D>(y[right]));
          if (!holds) return std::nullopt;
          return Expected{Real(*holds ? 1 : 0)};
        });
  }
}

}  // namespace

void add_comparison_cases(Cases& cases) {
  for (const OperationInfo& info : operation_list) {
    if (info.kind != Kind::comparison) continue;
    for_each_type(all_types, [&]<class D> {
      if (!takes<D>(info)) return;
      const int number = static_cast<int>(cases.size());
      cases.push_back(
          {std::string("comparison.") + info.name + "." + dtype_name<D>(),
           [info, number](const Device& device, Verdict& verdict) { run<D>(device, verdict, info, number); }});
    });
  }
}

}  // namespace teeny::conformance
