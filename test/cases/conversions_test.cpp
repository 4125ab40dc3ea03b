// Conversions, promotion, arguments.
#include "fixture.hpp"

namespace teeny::cases {
namespace {

using Conversions = Cases;
TEENY_ON_EACH_DEVICE(Conversions);

TEST_P(Conversions, CAST_1_f32_to_bf16) {
  const auto x = in_bits<float>({0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF, 0x3E89CCD5, 0xBF808000, 0x7F7F7FFF,
                                 0x7F7F8000, 0x7F7FFFFF, 0x00008000, 0x00018000, 0x80000001, 0x7F800000, 0xFF800000,
                                 0x7F800001, 0x7FFF8C22, 0xFFFFFFFF, 0x7F8000FF});
  const auto got = map_bits<bfloat16>([](auto v) { return tl::cast<bfloat16>(v); }, x);
  const std::vector<std::uint16_t> expected = {0x3F80, 0x3F82, 0x3F81, 0x3F80, 0x3E8A, 0xBF80, 0x7F7F,
                                               0x7F80, 0x7F80, 0x0000, 0x0002, 0x8000, 0x7F80, 0xFF80};
  EXPECT_EQ(std::vector<std::uint16_t>(got.begin(), got.begin() + 14), expected);
  for (int i = 14; i < 18; ++i)
    EXPECT_TRUE((got[i] & 0x7F80) == 0x7F80 && (got[i] & 0x7F)) << i << ": " << std::hex << got[i];
  // Known while compiling.
  auto folded = blank<bfloat16>(device, 3);
  launch(
      device, {1},
      [](tl::Ptr<bfloat16> y) {
        tl::store(y, tl::cast<bfloat16>(tl::bitcast<float>(tl::i32(0x3F818000))));
        tl::store(y + 1, tl::cast<bfloat16>(tl::bitcast<float>(tl::i32(0x3F808000))));
        tl::store(y + 2, tl::cast<bfloat16>(tl::bitcast<float>(tl::i32(0x7FFF8C22))));
      },
      folded);
  EXPECT_EQ(bits(folded)[0], 0x3F82);
  EXPECT_EQ(bits(folded)[1], 0x3F80);
  EXPECT_TRUE((bits(folded)[2] & 0x7F80) == 0x7F80 && (bits(folded)[2] & 0x7F));
}

TEST_P(Conversions, CAST_2_f32_to_f16) {
  Host<float> x = {65504,
                   65519,
                   0,
                   65520,
                   65536,
                   -1e30f,
                   2049,
                   2051,
                   1 + 0x1p-11f,
                   1 + 0x3p-11f,
                   1 + 0x1p-11f + 0x1p-20f,
                   0x1p-24f,
                   0x1p-25f,
                   0x1p-25f * (1 + 0x1p-20f),
                   0,
                   0.1f,
                   -0.0f,
                   INFINITY,
                   NAN};
  x[2] = std::bit_cast<float>(0x477FEFFFu);
  x[14] = std::bit_cast<float>(0x387FE000u);
  const std::vector<std::uint16_t> expected = {0x7BFF, 0x7BFF, 0x7BFF, 0x7C00, 0x7C00, 0xFC00, 0x6800, 0x6802, 0x3C00,
                                               0x3C02, 0x3C01, 0x0001, 0x0000, 0x0001, 0x0400, 0x2E66, 0x8000, 0x7C00};
  for (const auto& got : {map_bits<half>([](auto v) { return tl::cast<half>(v); }, in<float>(x)),
                          map_bits<half>([](auto v) { return v * 1; }, in<float>(x))}) {
    EXPECT_EQ(std::vector<std::uint16_t>(got.begin(), got.begin() + 18), expected);
    EXPECT_TRUE((got[18] & 0x7C00) == 0x7C00 && (got[18] & 0x3FF));
  }
}

TEST_P(Conversions, CAST_3_between_floats_and_integers) {
  const auto convert = [](auto v) { return v; };  // the store converts
  EXPECT_EQ(map<std::int8_t>(convert, in<float>({-128.9f, -0.9f, 127.9f})), (Host<std::int8_t>{-128, 0, 127}));
  EXPECT_EQ(map<std::uint8_t>(convert, in<float>({255.9f, 0.9f, -0.5f})), (Host<std::uint8_t>{255, 0, 0}));
  EXPECT_EQ(map<std::uint32_t>(convert, in<float>({3e9f, 4294967040.0f})),
            (Host<std::uint32_t>{3000000000, 4294967040}));
  EXPECT_EQ(map<std::int64_t>(convert, in<float>({1e18f})), (Host<std::int64_t>{999999984306749440}));
  EXPECT_EQ(map<std::uint64_t>(convert, in<double>({1e19})), (Host<std::uint64_t>{10000000000000000000u}));
  EXPECT_EQ(map<std::int64_t>(convert, in<double>({-9223372036854775808.0, 2251799813685249.5})),
            (Host<std::int64_t>{INT64_MIN, 2251799813685249}));
  EXPECT_EQ(map<float>(convert, in<std::uint32_t>({4294967295, 2147483649})),
            (Host<float>{4294967296.0f, 2147483648.0f}));
  EXPECT_EQ(map<double>(convert, in<std::uint64_t>({std::uint64_t{1} << 63, ~std::uint64_t{0}})),
            (Host<double>{9223372036854775808.0, 1.8446744073709552e19}));
  EXPECT_EQ(map<float>(convert, in<std::uint8_t>({200, 200, 200, 200})), (Host<float>{200, 200, 200, 200}));
  EXPECT_EQ(map<float>(convert, in<std::int8_t>({-56, -56, -56, -56})), (Host<float>{-56, -56, -56, -56}));
  // Out of range: saturated, NaN gives 0; alike in the middle and at the end of arrays, and when known while compiling.
  for (int n : {5, 400, 411, 427}) {
    Host<float> x(n);
    Host<std::int8_t> expected(n);
    const float values[] = {NAN, INFINITY, -INFINITY, 510, -200};
    const std::int8_t results[] = {0, 127, -128, 127, -128};
    for (int i = 0; i < n; ++i) x[i] = values[i % 5], expected[i] = results[i % 5];
    EXPECT_EQ(map<std::int8_t>(convert, in<float>(x)), expected) << n;
  }
  EXPECT_EQ(map<std::uint8_t>(convert, in<float>({-1.5f})), (Host<std::uint8_t>{0}));
  auto folded = blank<std::int8_t>(device, 3);
  launch(
      device, {1},
      [](tl::Ptr<std::int8_t> y) {
        tl::store(y, tl::cast<std::int8_t>(tl::f32(510)));
        tl::store(y + 1, tl::cast<std::int8_t>(tl::f32(tl::nan)));
        tl::store(y + 2, tl::cast<std::int8_t>(tl::f32(-tl::inf)));
      },
      folded);
  EXPECT_EQ(download(folded), (Host<std::int8_t>{127, 0, -128}));
}

struct Scalars {
  void operator()(tl::f16 a, tl::Ptr<half> pa, tl::f32 b, tl::b1 c, tl::f64 d, tl::i8 e, tl::u32 f, tl::i64 g,
                  tl::u64 h, tl::Ptr<std::uint64_t> out) const {
    tl::store(pa, a);
    tl::store(out, tl::cast<std::uint64_t>(tl::bitcast<std::uint32_t>(b)));
    tl::store(out + 1, c);
    tl::store(out + 2, tl::bitcast<std::uint64_t>(d));
    tl::store(out + 3, tl::bitcast<std::uint64_t>(tl::cast<std::int64_t>(e)));
    tl::store(out + 4, f);
    tl::store(out + 5, tl::bitcast<std::uint64_t>(g));
    tl::store(out + 6, h);
  }
};

TEST_P(Conversions, ARGS_1_scalars_of_every_width) {
  auto pa = blank<half>(device, 1);
  auto out = blank<std::uint64_t>(device, 7);
  const std::uint64_t tenth = 0x3FB999999999999A, minus_five = ~std::uint64_t{4}, ones = ~std::uint64_t{0};
  launch(device, {1}, Scalars{}, 42.0, pa, 0.125f, true, 0.1, -5, 4294967295u, std::int64_t{2147483648}, ones, out);
  EXPECT_EQ(bits(pa)[0], 0x5140);
  EXPECT_EQ(download(out), (Host<std::uint64_t>{0x3E000000, 1, tenth, minus_five, 4294967295, 2147483648, ones}));
  launch(device, {1}, Scalars{}, 65500.0, pa, 0.125f, false, 0.1, 127, 0u, std::int64_t{4294967295}, std::uint64_t{1},
         out);
  EXPECT_EQ(bits(pa)[0], 0x7BFF);
  EXPECT_EQ(download(out), (Host<std::uint64_t>{0x3E000000, 0, tenth, 127, 0, 4294967295, 1}));
  launch(device, {1}, Scalars{}, -65500.0, pa, 0.125f, true, 0.1, -5, 4294967295u, std::int64_t{-1}, ones, out);
  EXPECT_EQ(bits(pa)[0], 0xFBFF);
  EXPECT_EQ(download(out), (Host<std::uint64_t>{0x3E000000, 1, tenth, minus_five, 4294967295, ones, ones}));
}

template <class D, class T>
constexpr bool has_dtype = std::is_same_v<typename T::dtype, D>;

TEST_P(Conversions, PROM_1_types_and_values) {
  auto out = blank<double>(device, 16);
  launch(
      device, {1},
      [](tl::Ptr<const std::int32_t> minus_one, tl::Ptr<const std::uint32_t> one, tl::Ptr<const std::uint8_t> bytes,
         tl::Ptr<const half> h, tl::Ptr<double> out) {
        auto i = tl::load(minus_one);
        auto u = tl::load(one);
        auto bf = tl::cast<bfloat16>(i);
        auto i64 = tl::cast<std::int64_t>(i);
        auto f64 = tl::cast<double>(i);
        tl::store(out, i < u);
        auto sum = i + u;
        static_assert(has_dtype<std::uint32_t, decltype(sum)>);
        tl::store(out + 1, sum);
        auto chosen = tl::where(i < 0, i, u + 6);
        static_assert(has_dtype<std::uint32_t, decltype(chosen)>);
        tl::store(out + 2, tl::cast<std::int64_t>(chosen));
        auto literal = tl::cast<std::int16_t>(i) + 4.0;
        static_assert(has_dtype<float, decltype(literal)>);
        tl::store(out + 3, literal);
        auto wrapped = tl::load(bytes) + 100;
        static_assert(has_dtype<std::uint8_t, decltype(wrapped)>);
        tl::store(out + 4, wrapped);
        tl::store(out + 5, tl::load(bytes + 1) - tl::load(bytes + 2));
        auto narrow = tl::load(h) + 0.00048828125;
        static_assert(has_dtype<half, decltype(narrow)>);
        tl::store(out + 6, narrow);
        static_assert(has_dtype<half, decltype(tl::load(h) + bf)>);
        static_assert(has_dtype<float, decltype(i + bf)>);
        static_assert(has_dtype<float, decltype(i64 + tl::cast<float>(i))>);
        static_assert(has_dtype<double, decltype(tl::cast<float>(i) + f64)>);
        static_assert(has_dtype<std::int8_t, decltype((i < 0) + tl::cast<std::int8_t>(i))>);
        static_assert(has_dtype<half, decltype(tl::where(i < 0, i, tl::load(h)))>);
        tl::store(out + 7, tl::div(i * 0 + 7, i * 0 + 2));
        tl::store(out + 8, tl::load(h) + bf);
        tl::store(out + 9, i + bf);
      },
      in<std::int32_t>({-1}), in<std::uint32_t>({1}), in<std::uint8_t>({200, 1, 2}), in<half>({half(1)}), out);
  const Host<double> got = download(out);
  EXPECT_EQ(Host<double>(got.begin(), got.begin() + 10), (Host<double>{0, 0, 4294967295.0, 3, 44, 255, 1, 3, 0, -2}));
}

}  // namespace
}  // namespace teeny::cases
