// Functions of shape: every element lands where row-major order says.
#include "layout.hpp"

namespace teeny::conformance {

namespace {

enum class Form {
  trans_last,
  trans_201,
  trans_120,
  trans_4,
  reshape_2,
  reshape_1,
  reshape_4,
  expand_0,
  expand_1,
  expand_2,
  expand_3,
  broadcast_row,
  broadcast_column,
  broadcast_middle,
  twice
};
constexpr const char* form_names[] = {"trans_last",       "trans_201",        "trans_120", "trans_4",
                                      "reshape_2",        "reshape_1",        "reshape_4", "expand_0",
                                      "expand_1",         "expand_2",         "expand_3",  "broadcast_row",
                                      "broadcast_column", "broadcast_middle", "twice"};

struct Shapes {
  Form form = Form::trans_last;
  int a = 2, b = 4, c = 8;
  TEENY_PARAMETERS(x, y);

  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> y) const {
    auto v = tl::load(x + row_major<3>({a, b, c}));
    switch (form) {
      case Form::trans_last:
        return store_rows(y, tl::trans(v));
      case Form::trans_201:
        return store_rows(y, tl::trans(v, {2, 0, 1}));
      case Form::trans_120:
        return store_rows(y, tl::trans(v, {1, 2, 0}));
      case Form::trans_4:
        return store_rows(y, tl::trans(tl::expand_dims(v, 1), {3, 1, 2, 0}));
      case Form::reshape_2:
        return store_rows(y, tl::reshape(v, {a * b, c}));
      case Form::reshape_1:
        return store_rows(y, tl::reshape(v, {a * b * c}));
      case Form::reshape_4:
        return store_rows(y, tl::reshape(tl::trans(v), {a, c, b, 1}));
      case Form::expand_0:
        return store_rows(y, tl::broadcast_to(tl::expand_dims(v, 0), {3, a, b, c}));
      case Form::expand_1:
        return store_rows(y, tl::broadcast_to(tl::expand_dims(v, 1), {a, 3, b, c}));
      case Form::expand_2:
        return store_rows(y, tl::broadcast_to(tl::expand_dims(v, 2), {a, b, 3, c}));
      case Form::expand_3:
        return store_rows(y, tl::broadcast_to(tl::expand_dims(v, 3), {a, b, c, 3}));
      case Form::broadcast_row:
        return store_rows(y, tl::broadcast_to(tl::load(x + tl::arange(0, c)), {a, b, c}));
      case Form::broadcast_column:
        return store_rows(y, tl::broadcast_to(tl::load(x + tl::arange(0, b))(tl::all, tl::none), {a, b, c}));
      case Form::broadcast_middle:
        return store_rows(y, tl::broadcast_to(tl::load(x + tl::arange(0, a))(tl::all, tl::none, tl::none), {a, b, c}));
      case Form::twice:
        return store_rows(y, tl::trans(tl::trans(tl::trans(v, {2, 0, 1}), {1, 2, 0})));
    }
  }
};

// The source element of each element of the result.
std::vector<int> sources(const Shapes& k) {
  std::vector<int> at;
  auto nest = [&](std::array<int, 4> size, auto&& source) {
    for (int i = 0; i < size[0]; ++i)
      for (int j = 0; j < size[1]; ++j)
        for (int l = 0; l < size[2]; ++l)
          for (int m = 0; m < size[3]; ++m) at.push_back(source(i, j, l, m));
  };
  const int a = k.a, b = k.b, c = k.c;
  auto index = [&](int i, int j, int l) { return (i * b + j) * c + l; };
  switch (k.form) {
    case Form::trans_last:
    case Form::twice:
    case Form::reshape_4:
      nest({1, a, c, b}, [&](int, int i, int l, int j) { return index(i, j, l); });
      break;
    case Form::trans_201:
      nest({1, c, a, b}, [&](int, int l, int i, int j) { return index(i, j, l); });
      break;
    case Form::trans_120:
      nest({1, b, c, a}, [&](int, int j, int l, int i) { return index(i, j, l); });
      break;
    case Form::trans_4:
      nest({c, 1, b, a}, [&](int l, int, int j, int i) { return index(i, j, l); });
      break;
    case Form::reshape_2:
    case Form::reshape_1:
      nest({1, a, b, c}, [&](int, int i, int j, int l) { return index(i, j, l); });
      break;
    case Form::expand_0:
      nest({3, a, b, c}, [&](int, int i, int j, int l) { return index(i, j, l); });
      break;
    case Form::expand_1:
      nest({a, 3, b, c}, [&](int i, int, int j, int l) { return index(i, j, l); });
      break;
    case Form::expand_2:
      nest({a, b, 3, c}, [&](int i, int j, int, int l) { return index(i, j, l); });
      break;
    case Form::expand_3:
      nest({a, b, c, 3}, [&](int i, int j, int l, int) { return index(i, j, l); });
      break;
    case Form::broadcast_row:
      nest({1, a, b, c}, [&](int, int, int, int l) { return l; });
      break;
    case Form::broadcast_column:
      nest({1, a, b, c}, [&](int, int, int j, int) { return j; });
      break;
    case Form::broadcast_middle:
      nest({1, a, b, c}, [&](int, int i, int, int) { return i; });
      break;
  }
  return at;
}

template <class D>
void run(const Device& device, Verdict& verdict, Form form) {
  for (const auto& [a, b, c] :
       {std::array{2, 4, 8}, std::array{3, 5, 7}, std::array{1, 1, 1}, std::array{16, 1, 32}, std::array{1, 33, 2}}) {
    if (!takes_blocks(device, a, b, c)) continue;
    const Shapes kernel{form, a, b, c};
    const Host<D> x = values<D>(static_cast<std::size_t>(a) * b * c, 21, false);
    const std::vector<int> at = sources(kernel);
    Host<D> expected;
    for (int source : at) expected.push_back(x[source]);
    const Buffer<D> input = upload<D>(device, x);
    Buffer<D> output = blank<D>(device, expected.size() + 4);
    expect_same(verdict, device, {1}, kernel, input, output);
    if (!verdict.ok()) return;
    expect_bits<D>(verdict, download(output), expected,
                   std::to_string(a) + "x" + std::to_string(b) + "x" + std::to_string(c));
  }
}

}  // namespace

void add_shape_cases(Cases& cases) {
  for_each_type(Types<float, half, std::int8_t, std::int64_t, bool>{}, [&]<class D> {
    for (int i = 0; i <= static_cast<int>(Form::twice); ++i)
      cases.push_back({std::string("shape.") + form_names[i] + "." + dtype_name<D>(),
                       [i](const Device& device, Verdict& verdict) { run<D>(device, verdict, static_cast<Form>(i)); }});
  });
}

}  // namespace teeny::conformance
