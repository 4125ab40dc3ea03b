// Random numbers, printing, the program cache, threads, limits.
#include <barrier>
#include <thread>

#include "fixture.hpp"
#include "kernels/elementwise.hpp"

namespace teeny::cases {
namespace {

using System = Cases;
TEENY_ON_EACH_DEVICE(System);

// Philox-4x32-10 on counters and keys from memory.
struct Block {
  void operator()(tl::Ptr<const std::uint32_t> counter, tl::Ptr<const std::uint32_t> key,
                  tl::Ptr<std::uint32_t> out) const {
    auto at = tl::program_id(0);
    tl::Tensor<std::uint32_t, 0> c[4] = {tl::load(counter + at * 4), tl::load(counter + at * 4 + 1),
                                         tl::load(counter + at * 4 + 2), tl::load(counter + at * 4 + 3)};
    auto k0 = tl::load(key + at * 2), k1 = tl::load(key + at * 2 + 1);
    for (auto i : tl::range(0, 10)) {
      auto c0 = c[0], c2 = c[2];
      c[0] = tl::umulhi(0xCD9E8D57u, c2) ^ c[1] ^ k0;
      c[2] = tl::umulhi(0xD2511F53u, c0) ^ c[3] ^ k1;
      c[1] = 0xCD9E8D57u * c2;
      c[3] = 0xD2511F53u * c0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
      k0 += tl::cast<std::uint32_t>(i) * 0;
    }
    for (int i = 0; i < 4; ++i) tl::store(out + at * 4 + i, c[i]);
  }
};

TEST_P(System, RAND_1_philox) {
  const std::uint32_t f = 0xFFFFFFFF;
  auto out = blank<std::uint32_t>(device, 12);
  launch(device, {3}, Block{},
         in<std::uint32_t>({0, 0, 0, 0, f, f, f, f, 0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}),
         in<std::uint32_t>({0, 0, f, f, 0xA4093822, 0x299F31D0}), out);
  EXPECT_EQ(download(out),
            (Host<std::uint32_t>{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8, 0x408F276D, 0x41C83B0E, 0xA20BC7C6,
                                 0x6D5451FD, 0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
  auto words = blank<std::uint32_t>(device, 4);
  auto uniform = blank<float>(device, 4);
  launch(
      device, {1},
      [](tl::Ptr<std::uint32_t> words, tl::Ptr<float> uniform, tl::u64 seed) {
        auto at = tl::arange(0, 4);
        auto random = kernels::philox(seed, tl::cast<std::uint32_t>(at));
        tl::store(words + at, random.c0);
        tl::store(uniform + at, kernels::uniform(random.c0));
      },
      words, uniform, std::uint64_t{42});
  EXPECT_EQ(download(words), (Host<std::uint32_t>{0x9CEAF053, 0xFCDB2127, 0xD36C0225, 0xBAC70475}));
  EXPECT_EQ(download(uniform), (Host<float>{0.77408016f, 0.024562696f, 0.3482663f, 0.5408014f}));
  EXPECT_EQ(map<float>([](auto x) { return kernels::uniform(x); },
                       in<std::uint32_t>({0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF})),
            (Host<float>{0, 0.99999994f, 0.99999994f, 0}));
}

TEST_P(System, DBG_1_printing_follows_the_type) {
  std::string printed;
  set_print_sink([&](std::string_view text) { printed += text; });
  auto y = blank<std::int32_t>(device, 4);
  launch(
      device, {1},
      [](tl::Ptr<const std::int32_t> x, tl::Ptr<std::int32_t> y) {
        auto v = tl::load(x);
        tl::device_print("i32=", v - 8);
        tl::device_print("i8=", tl::cast<std::int8_t>(v - 12));
        tl::device_print("i16=", tl::cast<std::int16_t>(v - 307));
        tl::device_print("i64=", tl::cast<std::int64_t>(v) - 2147483656);
        tl::device_print("u32=", tl::cast<std::uint32_t>(v - 8));
        tl::device_print("u8=", tl::cast<std::uint8_t>(v + 193));
        tl::device_print("f16=", tl::cast<half>(v) - 5.5);
        tl::device_print("bf16=", tl::cast<bfloat16>(tl::cast<float>(v) * tl::f32(tl::nan)));
        tl::device_print("seven=", tl::load(x));
        tl::device_print("tile=", tl::arange(10, 14));
        tl::store(y + tl::arange(0, 4), tl::arange(10, 14));
      },
      in<std::int32_t>({7}), y);
  device.synchronize();
  set_print_sink({});
  EXPECT_EQ(download(y), (Host<std::int32_t>{10, 11, 12, 13}));
  auto line = [&](const std::string& word) {
    const std::size_t start = printed.find(" " + word + "=");
    return start == std::string::npos ? "absent in " + printed
                                      : printed.substr(start, printed.find('\n', start) - start);
  };
  auto ends_with = [&](const std::string& word, const std::string& value) {
    EXPECT_EQ(line(word), " " + word + "= " + value);
  };
  ends_with("i32", "-1");
  ends_with("i8", "-5");
  ends_with("i16", "-300");
  ends_with("i64", "-2147483649");
  ends_with("u32", "4294967295");
  ends_with("u8", "200");
  ends_with("f16", "1.5");
  ends_with("seven", "7");
  EXPECT_NE(line("bf16").find("nan"), std::string::npos) << line("bf16");
  for (const char* value : {"10", "11", "12", "13"})
    EXPECT_NE(printed.find(std::string("tile= ") + value), std::string::npos) << printed;
}

struct Named {
  int VALUE = 123;
  void operator()(tl::Ptr<std::int32_t> y) const { tl::store(y, VALUE); }
};
struct Product {
  auto operator()(auto x, auto y) const { return x * y; }
};
struct Sum {
  auto operator()(auto x, auto y) const { return x + y; }
};
template <class Helper>
struct WithHelper {
  Helper helper = {};
  void operator()(tl::Ptr<std::int32_t> y, tl::i32 a, tl::i32 b) const { tl::store(y, helper(a, b)); }
};
namespace first {
struct Kernel {
  void operator()(tl::Ptr<std::int32_t> y) const { tl::store(y, 1); }
};
}  // namespace first
namespace second {
struct Kernel {
  void operator()(tl::Ptr<std::int32_t> y) const { tl::store(y, 2); }
};
}  // namespace second

TEST_P(System, CACHE_1_a_program_is_found_by_what_it_does) {
  auto y = blank<std::int32_t>(device, 1);
  auto result = [&](const auto& kernel, auto... arguments) {
    launch(device, {1}, kernel, y, arguments...);
    return download(y)[0];
  };
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(result(Named{123}), 123);
    EXPECT_EQ(result(Named{1234}), 1234);
    EXPECT_EQ(result(WithHelper<Product>{}, 3, 4), 12);
    EXPECT_EQ(result(WithHelper<Sum>{}, 3, 4), 7);
    EXPECT_EQ(result(first::Kernel{}), 1);
    EXPECT_EQ(result(second::Kernel{}), 2);
  }
  EXPECT_EQ(map<float>([](auto x) { return x * 2; }, in<float>({1.5f})), (Host<float>{3}));
  EXPECT_EQ(map<double>([](auto x) { return x * 2; }, in<double>({1.5})), (Host<double>{3}));
}

struct FillTid {
  int SALT = 0;
  void operator()(tl::Ptr<std::int32_t> out, tl::i32 tid, tl::i32 n) const {
    auto at = tl::program_id(0) * 1024 + tl::arange(0, 1024);
    tl::store(out + at, at + tid + SALT * 1000000, {.mask = at < n});
  }
};

TEST_P(System, CONC_1_threads_may_make_the_first_launch_together) {
  constexpr int threads = 16, n = 10000;
  auto round = [&](auto kernel_of) {
    std::barrier meet(threads);
    std::vector<Host<std::int32_t>> got(threads);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t)
      team.emplace_back([&, t] {
        auto out = blank<std::int32_t>(device, n);
        meet.arrive_and_wait();
        launch(device, {10}, kernel_of(t), out, t, n);
        got[t] = download(out);
      });
    for (std::thread& thread : team) thread.join();
    for (int t = 0; t < threads; ++t)
      for (int i = 0; i < n; ++i) ASSERT_EQ(got[t][i], i + t + kernel_of(t).SALT * 1000000) << t;
  };
  round([](int) { return FillTid{1}; });
  round([](int) { return FillTid{1}; });
  round([](int t) { return FillTid{t + 2}; });
  auto out = blank<std::int32_t>(device, n);
  std::thread([&] { launch(device, {10}, FillTid{1}, out, 5, n); }).join();
  EXPECT_EQ(download(out)[0], 1000005);
}

struct Fills {
  int N = 64;
  void operator()(tl::Ptr<float> y) const { tl::store(y + tl::arange(0, N), tl::cast<float>(tl::arange(0, N))); }
};

TEST_P(System, ENV_1_what_is_too_large_is_an_error_or_right) {
  for (int turn = 0; turn < 2; ++turn) EXPECT_THROW(device.buffer<float>(std::size_t{1} << 46), Error);
  EXPECT_EQ(device.buffer<float>(1 << 18).size(), std::size_t{1} << 18);
  Buffer<float> none;
  EXPECT_THROW(launch(device, {1}, Fills{}, none), Error);
  auto y = blank<float>(device, 1 << 21);
  std::string first, second;
  for (std::string* text : {&first, &second}) {
    try {
      launch(device, {1}, Fills{1 << 21}, y);
      const Host<float> got = download(y);
      for (int i = 0; i < 1 << 21; ++i) ASSERT_EQ(got[i], i);
      *text = "right";
    } catch (const Error& error) {
      *text = error.what();
    }
  }
  EXPECT_EQ(first, second);
  launch(device, {1}, Fills{}, y);
  EXPECT_EQ(download(y)[63], 63);
}

}  // namespace
}  // namespace teeny::cases
