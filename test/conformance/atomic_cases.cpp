// Atomics: the result of many lanes and programs on few cells, and the old values where every lane has its own cell.
#include "layout.hpp"

namespace teeny::conformance {

namespace {

enum class Atomic { add, max, min, bit_and, bit_or, bit_xor, exchange, swap };
constexpr const char* atomic_names[] = {"add", "max", "min", "and", "or", "xor", "xchg", "cas"};

template <class D>
constexpr bool atomic_takes(Atomic atomic) {
  switch (atomic) {
    case Atomic::add:
      return tl::Float<D> || (tl::Int<D> && sizeof(D) >= 4);
    case Atomic::bit_and:
    case Atomic::bit_or:
    case Atomic::bit_xor:
      return tl::Int<D> && sizeof(D) >= 4;
    default:
      return tl::Numeric<D> && sizeof(D) >= 4;
  }
}

template <class D, int R>
tl::Tensor<D, R> apply(Atomic atomic, tl::Tensor<D*, R> p, tl::Tensor<D, R> v, tl::Tensor<bool, R> mask) {
  switch (atomic) {
    case Atomic::add:
      if constexpr (atomic_takes<D>(Atomic::add)) return tl::atomic_add(p, v, {.mask = mask});
      break;
    case Atomic::max:
      if constexpr (atomic_takes<D>(Atomic::max)) return tl::atomic_max(p, v, {.mask = mask});
      break;
    case Atomic::min:
      if constexpr (atomic_takes<D>(Atomic::min)) return tl::atomic_min(p, v, {.mask = mask});
      break;
    case Atomic::bit_and:
      if constexpr (atomic_takes<D>(Atomic::bit_and))
        return tl::atomic_and(p, v, {.mask = mask, .order = tl::Order::relaxed});
      break;
    case Atomic::bit_or:
      if constexpr (atomic_takes<D>(Atomic::bit_or)) return tl::atomic_or(p, v, {.mask = mask});
      break;
    case Atomic::bit_xor:
      if constexpr (atomic_takes<D>(Atomic::bit_xor))
        return tl::atomic_xor(p, v, {.mask = mask, .scope = tl::Scope::system});
      break;
    case Atomic::exchange:
      if constexpr (atomic_takes<D>(Atomic::exchange)) return tl::atomic_xchg(p, v, {.mask = mask});
      break;
    case Atomic::swap:
      if constexpr (atomic_takes<D>(Atomic::swap))
        return tl::atomic_cas(p, v, tl::cast<D>(tl::cast<std::int32_t>(mask) * 9));
      break;
  }
  tl::static_check(false, "the atomic does not take this type");
  return v;
}

// Every lane of every program adds to the cell of its number modulo CELLS; the old values are not kept, their order is
// open.
struct Contended {
  Atomic atomic = Atomic::add;
  int BLOCK = 64, CELLS = 7;
  TEENY_PARAMETERS(x, cells, n);

  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> cells, tl::i32 n) const {
    auto at = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
    auto mask = at < n;
    apply(atomic, cells + at % CELLS, tl::load(x + at, {.mask = mask}), mask);
  }
};

// Every lane has its own cell.
struct Apart {
  Atomic atomic = Atomic::add;
  int BLOCK = 64;
  TEENY_PARAMETERS(x, cells, old, n);

  template <class D>
  void operator()(tl::Ptr<const D> x, tl::Ptr<D> cells, tl::Ptr<D> old, tl::i32 n) const {
    auto at = tl::program_id(0) * BLOCK + tl::arange(0, BLOCK);
    auto mask = (at % 3 != 1) & (at < n);
    auto before = apply(atomic, cells + at, tl::load(x + at), mask);
    tl::store(old + at, before);
  }
};

// One scalar atomic a program; the returned value decides where a row is written.
struct Ticket {
  void operator()(tl::Ptr<std::int32_t> count, tl::Ptr<std::int64_t> rows) const {
    auto ticket = tl::atomic_add(count, 1);
    tl::store(rows + ticket * 8 + tl::arange(0, 8), tl::full<std::int64_t>({8}, 2));
  }
};

// A counter guarded by a lock, taken with compare-and-swap and given back with an exchange.
struct Lock {
  void operator()(tl::Ptr<std::int32_t> lock, tl::Ptr<std::int32_t> count) const {
    tl::while_([&] { return tl::atomic_cas(lock, 0, 1) == 1; });
    tl::store(count, tl::load(count, {.is_volatile = true}) + 1);
    tl::barrier();
    tl::atomic_xchg(lock, 0);
  }
};

template <class D>
void run(const Device& device, Verdict& verdict, Atomic atomic) {
  const Host<D> x = whole_numbers<D>(1024, 91, 2);
  if (atomic != Atomic::exchange && atomic != Atomic::swap) {  // their result depends on the order
    for (const auto& [block, cells, n] :
         {std::array{64, 7, 1000}, std::array{1024, 1, 1024}, std::array{33, 64, 500}}) {
      if (!takes_blocks(device, block)) continue;
      const Buffer<D> input = upload<D>(device, x);
      Buffer<D> result = upload<D>(device, whole_numbers<D>(cells + 3, 92, 1));
      expect_same(verdict, device, {(n + block - 1) / block}, Contended{atomic, block, cells}, input, result, n);
      if (!verdict.ok()) return verdict.fail(std::to_string(n) + " lanes on " + std::to_string(cells) + " cells");
    }
  }
  const Buffer<D> input = upload<D>(device, x);
  Buffer<D> cells = upload<D>(device, whole_numbers<D>(1024, 93, 2)), old = blank<D>(device, 1024);
  expect_same(verdict, device, {4}, Apart{atomic, 64}, input, cells, old, 250);
  // A masked-off lane of a compare-and-swap still swaps: it has no mask, and swaps in a zero.
  expect_same(verdict, device, {1}, Apart{atomic, 1}, input, cells, old, 1);
}

void run_ticket(const Device& device, Verdict& verdict) {
  Buffer<std::int32_t> count = upload<std::int32_t>(device, {1});
  Buffer<std::int64_t> rows = upload<std::int64_t>(device, Host<std::int64_t>(16 * 8));
  expect_same(verdict, device, {12}, Ticket{}, count, rows);
  Host<std::int64_t> expected(16 * 8);
  for (int i = 8; i < 13 * 8; ++i) expected[i] = 2;
  expect_bits<std::int64_t>(verdict, download(rows), expected, "rows");
  expect_bits<std::int32_t>(verdict, download(count), {13}, "count");
}

void run_lock(const Device& device, Verdict& verdict) {
  Buffer<std::int32_t> lock = upload<std::int32_t>(device, {0}), count = upload<std::int32_t>(device, {0});
  expect_same(verdict, device, {50}, Lock{}, lock, count);
  expect_bits<std::int32_t>(verdict, download(count), {50}, "count");
}

}  // namespace

void add_atomic_cases(Cases& cases) {
  for_each_type(all_types, [&]<class D> {
    if constexpr (atomic_takes<D>(Atomic::add)) {
      for (int i = 0; i <= static_cast<int>(Atomic::swap); ++i) {
        const Atomic atomic = static_cast<Atomic>(i);
        if (!atomic_takes<D>(atomic)) continue;
        cases.push_back({std::string("atomic.") + atomic_names[i] + "." + dtype_name<D>(),
                         [atomic](const Device& device, Verdict& verdict) { run<D>(device, verdict, atomic); }});
      }
    }
  });
  cases.push_back({"atomic.ticket", run_ticket});
  cases.push_back({"atomic.lock", run_lock});
}

}  // namespace teeny::conformance
