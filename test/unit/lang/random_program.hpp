// Random programs over variables held in a vector, an array and members, run in either world.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "worlds.hpp"

namespace random_program {

struct Statement {
  enum Form {
    assign,
    add_to,
    swap,
    copy_through,
    load_into,
    store_from,
    atomic,
    loop,
    branch,
    branch_else,
    repeat
  } form;
  int a = 0, b = 0, c = 0, operation = 0;
  std::vector<Statement> body, otherwise;
};
struct Program {
  std::vector<Statement> statements;
};

inline std::vector<Statement> make_block(std::mt19937& random, int depth, int length) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Statement> block;
  for (int i = 0; i < length; ++i) {
    Statement s;
    s.form = static_cast<Statement::Form>(pick(depth > 0 ? 11 : 7));
    s.a = pick(6), s.b = pick(6), s.c = pick(6), s.operation = pick(5);
    if (s.form >= Statement::loop) {
      s.body = make_block(random, depth - 1, 1 + pick(3));
      // A region has to do something.
      s.body.push_back({Statement::add_to, pick(6), pick(6), pick(6), 0, {}, {}});
      if (s.form == Statement::branch_else) s.otherwise = make_block(random, depth - 1, 1 + pick(2));
    }
    block.push_back(std::move(s));
  }
  return block;
}

inline Program make(unsigned seed) {
  std::mt19937 random(seed);
  return {make_block(random, 3, 4 + static_cast<int>(seed % 5))};
}

template <class W>
struct State {
  std::vector<typename W::Int> vector;
  typename W::Int array[2];
  struct {
    typename W::Int x, y;
  } members;
  typename W::Int& operator[](int i) {
    return i < 2 ? vector[i] : i < 4 ? array[i - 2] : i == 4 ? members.x : members.y;
  }
};

template <class W>
typename W::Int combine(int operation, typename W::Int a, typename W::Int b) {
  switch (operation) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a ^ b;
    default: return W::choose(a < b, a, b);
  }
}

template <class W, class P>
void run_block(const std::vector<Statement>& block, State<W>& s, P memory) {
  using Int = typename W::Int;
  for (const Statement& t : block) {
    const auto address = [&](int k) { return memory + (s[k] & Int(15)); };
    switch (t.form) {
      case Statement::assign: s[t.a] = combine<W>(t.operation, s[t.b], s[t.c]); break;
      case Statement::add_to: s[t.a] += combine<W>(t.operation, s[t.b], s[t.c]) % Int(1009); break;
      case Statement::swap: std::swap(s[t.a], s[t.b]); break;
      case Statement::copy_through: {
        auto kept = s[t.b];
        s[t.b] = s[t.c] + Int(1);
        s[t.a] = kept;
        break;
      }
      case Statement::load_into: s[t.a] = W::load(address(t.b)); break;
      case Statement::store_from: W::store(address(t.a), s[t.b]); break;
      case Statement::atomic: s[t.a] = W::add(address(t.b), s[t.c]); break;
      case Statement::loop:
        for (auto i : W::range(Int(0), s[t.a] & Int(3), Int(1))) {
          s[t.b] += i;
          run_block<W>(t.body, s, memory);
        }
        break;
      case Statement::branch: W::if_(s[t.a] < s[t.b], [&] { run_block<W>(t.body, s, memory); }); break;
      case Statement::branch_else:
        W::if_(
            s[t.a] < s[t.b], [&] { run_block<W>(t.body, s, memory); },
            [&] {
              run_block<W>(t.otherwise, s, memory);
              s[t.c] += Int(1);
            });
        break;
      case Statement::repeat: {
        Int left = s[t.a] & Int(3);
        W::while_([&] { return left > Int(0); },
                  [&] {
                    left -= Int(1);
                    run_block<W>(t.body, s, memory);
                  });
        s[t.a] += left;
        break;
      }
    }
  }
}

template <class W, class P>
void run(const Program& program, P memory, typename W::Int n) {
  using Int = typename W::Int;
  State<W> s{{n, Int(3)}, {Int(5), n + Int(1)}, {Int(-2), Int(11)}};
  run_block<W>(program.statements, s, memory);
  for (int i = 0; i < 6; ++i) W::store(memory + (32 + i), s[i]);
}

// The program of this thread: a kernel has no captures.
inline thread_local const Program* current = nullptr;
struct Kernel {
  int SEED = 0;
  void operator()(teeny::tl::Ptr<std::int32_t> memory, teeny::tl::i32 n) const {
    run<worlds::Recorded>(*current, memory, n);
  }
};
inline teeny::detail::RecordedKernelPtr record(const Program& program) {
  static int serial = 0;
  current = &program;
  return teeny::record(Kernel{.SEED = ++serial});
}

}  // namespace random_program
