// The state behind the fake libcuda: devices made of host memory, and streams that run nothing before someone waits for
// it. So work that reaches memory after it was freed, or before its allocation was reached, is seen every time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace fake {

using Result = int;
using Address = std::uint64_t;
using Operation = std::function<void()>;

enum : Result {
  ok = 0,
  invalid_value = 1,
  out_of_memory = 2,
  invalid_context = 201,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  out_of_resources = 701,
  capture_unsupported = 900
};

struct Device {
  int number = 0, major = 9, minor = 0;
};
struct Context {
  Device* device = nullptr;
};
struct Stream {
  Context* context = nullptr;
  std::deque<Operation> queue;
  std::uint64_t given = 0, run = 0;
  bool capturing = false;
  std::vector<Operation> captured;
};
struct Event {
  Stream* stream = nullptr;
  std::uint64_t position = 0;
};
struct Module {
  Context* context = nullptr;
  std::string image;
};
struct Function {
  Context* context = nullptr;
  std::string name;
  int shared_limit = 48 * 1024;
};
struct Graph {
  std::vector<Operation> operations;
};
struct Link {
  std::string text;
};
struct Pool {
  std::size_t cached = 0;  // bytes of freed memory that it keeps
};
struct Block {
  std::unique_ptr<char[]> data;
  std::size_t bytes = 0;
  Pool* pool = nullptr;
  bool reached = true;  // false: the allocation's place in its stream is still ahead
};

struct State {
  std::recursive_mutex mutex;
  std::map<std::string, long long> numbers;  // what the test sets and reads: see fake_cuda_set
  std::deque<Device> devices;
  std::map<int, Context> contexts;
  std::set<Stream*> streams;
  std::map<Address, Block> blocks;       // memory of the device
  std::map<Address, Block> host_blocks;  // page-locked memory
  Pool pool;
  Result lost = ok;  // what every call returns after a fault

  long long number(const std::string& key, long long otherwise) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? otherwise : found->second;
  }
  std::size_t total() { return static_cast<std::size_t>(number("memory", 1 << 30)); }
  std::size_t used() {
    std::size_t sum = pool.cached;
    for (const auto& [address, block] : blocks) sum += block.bytes;
    return sum;
  }

  // Whether the bytes lie in live memory that was reached; a miss is what a GPU calls an illegal address.
  bool reachable(const std::map<Address, Block>& memory, Address address, std::size_t bytes) {
    auto next = memory.upper_bound(address);
    if (next != memory.begin()) {
      const auto& [first, block] = *std::prev(next);
      if (address + bytes <= first + block.bytes && block.reached) return true;
    }
    ++numbers["faults"];
    lost = illegal_address;
    return false;
  }
  Result allocate(std::map<Address, Block>& memory, Address* address, std::size_t bytes, Pool* from, bool reached) {
    if (bytes == 0) return invalid_value;
    const std::size_t reused = from != nullptr && from->cached >= bytes ? bytes : 0;
    if (&memory == &blocks && used() - reused + bytes > total()) return out_of_memory;
    if (reused != 0) from->cached -= bytes;
    Block block{std::make_unique_for_overwrite<char[]>(bytes), bytes, from, reached};
    *address = reinterpret_cast<Address>(block.data.get());
    memory[*address] = std::move(block);
    return ok;
  }
  Result release(std::map<Address, Block>& memory, Address address) {
    const auto found = memory.find(address);
    if (found == memory.end()) return invalid_value;
    if (found->second.pool != nullptr) found->second.pool->cached += found->second.bytes;
    memory.erase(found);
    return ok;
  }

  void give(Stream& stream, Operation operation) {
    if (stream.capturing) {
      stream.captured.push_back(std::move(operation));
      return;
    }
    stream.queue.push_back(std::move(operation));
    ++stream.given;
  }
  void run_to(Stream& stream, std::uint64_t position) {
    while (stream.run < position && !stream.queue.empty()) {
      const Operation operation = std::move(stream.queue.front());
      stream.queue.pop_front();
      ++stream.run;
      if (lost == ok) operation();
    }
  }
};

State& state();

}  // namespace fake
