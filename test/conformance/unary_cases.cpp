// Every unary operation for every element type it takes.
#include "elementwise.hpp"

namespace teeny::conformance {

namespace {

struct Unary {
  Operation operation = Operation::neg;
  int rows = 0, columns = 256;
  bool masked = true;
  TEENY_PARAMETERS(x, y, n);

  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y, tl::i32 n) const {
    auto program = tl::program_id(0);
    if (columns == 0) {
      tl::store(y + program, apply_unary(operation, tl::load(x + program)));
    } else if (rows == 0) {
      auto at = program * columns + tl::arange(0, columns);
      if (masked) {
        auto mask = at < n;
        tl::store(y + at, apply_unary(operation, tl::load(x + at, {.mask = mask})), {.mask = mask});
      } else {
        tl::store(y + at, apply_unary(operation, tl::load(x + at)));
      }
    } else {
      auto at = tl::arange(0, rows)(tl::all, tl::none) * columns + tl::arange(0, columns)(tl::none, tl::all);
      tl::store(y + at, apply_unary(operation, tl::load(x + at)));
    }
  }
};

template <class D>
void run(const Device& device, Verdict& verdict, const OperationInfo& info, int number) {
  constexpr bool all = std::is_same_v<D, float> || std::is_same_v<D, std::int32_t>;
  for (const Layout& layout : layouts(device, number, all)) {
    const Host<D> x = values<D>(layout.count, number);
    const Buffer<D> input = upload<D>(device, x);
    Buffer<D> output = blank<D>(device, layout.count + 8);
    expect_same(verdict, device, {layout.programs()}, Unary{info.operation, layout.rows, layout.columns, layout.masked},
                input, output, layout.count);
    if (!verdict.ok()) return verdict.fail(std::string("in layout ") + layout.name);
    compare_with_reference<D>(verdict, download(output), x.size(), layout.name, [&](std::size_t i) {
      return unary_reference(info.operation, dtype_of<D>, real_of<D>(x[i]));
    });
  }
}

}  // namespace

void add_unary_cases(Cases& cases) {
  for (const OperationInfo& info : operation_list) {
    if (info.kind != Kind::unary || info.operation == Operation::cast || info.operation == Operation::bitcast) continue;
    for_each_type(all_types, [&]<class D> {
      if (!takes<D>(info)) return;
      const int number = static_cast<int>(cases.size());
      cases.push_back(
          {std::string("unary.") + info.name + "." + dtype_name<D>(),
           [info, number](const Device& device, Verdict& verdict) { run<D>(device, verdict, info, number); }});
    });
  }
}

}  // namespace teeny::conformance
