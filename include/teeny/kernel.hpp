// Kernels as C++ objects: their constants by reflection, the types of a launch's arguments, and recording.
//
// A kernel is a default-constructible aggregate of at most 24 constants (numbers, bools, enums, empty function objects,
// each with a default) with a const call operator over tl::Ptr, tl::i32 and the like.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <teeny/detail/reflect.hpp>
#include <teeny/element.hpp>
#include <teeny/error.hpp>
#include <teeny/tl/tensor.hpp>

// Inside a kernel, optional: names its run-time arguments in messages. TEENY_PARAMETERS(x, y, n_cols);
#define TEENY_PARAMETERS(...) static constexpr const char* teeny_parameter_names = #__VA_ARGS__

namespace teeny {

namespace trace {
struct Trace;
}

template <class T>
class Buffer;

// One run-time argument of a recorded kernel.
struct Parameter {
  DType dtype = DType::i32;  // of the number, or of what the pointer points to
  bool pointer = false;
  bool read_only = false;  // declared Ptr<const D>
  bool operator==(const Parameter&) const = default;
};

namespace detail {

// A finished recording: immutable, shared, safe to use from any thread.
class TEENY_EXPORT RecordedKernel {
 public:
  explicit RecordedKernel(trace::Trace&& trace);
  // A kernel that was written as tt text instead of being recorded: it has no trace but its name.
  RecordedKernel(std::string name, std::vector<std::uint8_t> text, std::vector<Parameter> parameters);
  ~RecordedKernel();
  RecordedKernel(const RecordedKernel&) = delete;
  RecordedKernel& operator=(const RecordedKernel&) = delete;

  const trace::Trace& trace() const { return *trace_; }
  // trace::serialise of the body, and its SHA-256 in hexadecimal: the portable identity of what was recorded.
  const std::vector<std::uint8_t>& body() const { return body_; }
  const std::string& digest() const { return digest_; }
  bool is_text() const { return is_text_; }  // body() is tt text
  const std::string& name() const;           // for people
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::string& parameter_name(std::size_t index) const;  // "argument 1" where the kernel does not say

  // The 64-bit slot of a launch for a number: the value as parameter `index`, in the low bytes. Throws
  // Error(invalid_argument) naming the parameter when the value does not fit its type.
  std::uint64_t argument(std::size_t index, long long value) const;
  std::uint64_t argument(std::size_t index, unsigned long long value) const;
  std::uint64_t argument(std::size_t index, double value) const;

 private:
  std::unique_ptr<trace::Trace> trace_;
  std::vector<std::uint8_t> body_;
  std::string digest_;
  std::vector<Parameter> parameters_;
  bool is_text_ = false;
};
using RecordedKernelPtr = std::shared_ptr<const RecordedKernel>;

// What recording needs of a kernel besides its body.
struct KernelDescription {
  std::string_view type_name;
  const char* parameter_names = nullptr;  // "x, y, n" or null
  const std::string_view* constant_names = nullptr;
  const Constant* constants = nullptr;
  int constant_count = 0;
};

// Runs `body(object)` within a new recording of this thread, whose parameters are `parameters`, and returns what was
// recorded. Throws Error(invalid_kernel) with all mistakes; whatever the body throws passes through. Either way the
// thread is as before.
TEENY_EXPORT RecordedKernelPtr record(const KernelDescription& description, const ElementType* parameters,
                                      int parameter_count, void (*body)(const void*), const void* object);

// The recordings of one kernel type with one list of argument types, by the values of the constants. Thread-safe, and
// without a lock for what was recorded before; a kernel that is wrong is not kept. What is found lives as long as the table.
class TEENY_EXPORT RecordingTable {
 public:
  RecordingTable();
  ~RecordingTable();
  const RecordedKernelPtr& find_or_record(const KernelDescription& description, const ElementType* parameters,
                                          int parameter_count, void (*body)(const void*), const void* object);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// ---- launch arguments to the body's parameters

template <class T>
concept NumberArgument = std::is_arithmetic_v<T> || std::same_as<T, half> || std::same_as<T, bfloat16>;

// The element type of a host number where the parameter's is deduced.
template <class T>
struct NumberElement {
  using type = T;
};
template <class T>
requires std::is_arithmetic_v<T>
struct NumberElement<T> {
  using type = tl::host_t<T>;
};
template <class T>
using number_element_t = typename NumberElement<T>::type;

// A host number: its own type where the parameter's is deduced, any width of its kind where it is fixed (range-checked
// at launch), and an integer for a float.
template <class T>
struct HostNumber : tl::Scalar<number_element_t<T>> {
  int index;
  explicit HostNumber(int i) : tl::Scalar<number_element_t<T>>(tl::Raw{}, parameter(i)), index(i) {}
  template <Element E>
  requires(!std::same_as<E, number_element_t<T>> && !std::same_as<T, bool> && !std::same_as<E, bool> &&
           (tl::Float<E> || std::integral<T>))
  operator tl::Scalar<E>() const {
    return {tl::Raw{}, parameter_as(index, dtype_of<E>)};
  }
};

// Specialise for a type that stands for a buffer: `type` is tl::Ptr<T> or, for const, tl::Ptr<const T>.
template <class A>
struct BufferArgument {
  static constexpr bool fits = false;
};
template <class T>
struct BufferArgument<Buffer<T>> {
  static constexpr bool fits = true;
  using type = tl::Ptr<T>;
};
template <class T>
struct BufferArgument<const Buffer<T>> {
  static constexpr bool fits = true;
  using type = tl::Ptr<const T>;
};

template <class A>
struct ArgumentOf {
  static_assert(BufferArgument<A>::fits, "teeny: not a kernel argument: pass a Buffer or a number");
  using type = typename BufferArgument<A>::type;
};
template <class A>
requires NumberArgument<std::remove_const_t<A>>
struct ArgumentOf<A> {
  using type = HostNumber<std::remove_const_t<A>>;
};
// The run-time type that stands for a launch argument of (possibly reference) type A.
template <class A>
using argument_t = typename ArgumentOf<std::remove_reference_t<A>>::type;

template <class T>
T make_argument(int index) {
  if constexpr (requires { T(index).index; }) return T(index);
  else return T(tl::Raw{}, parameter(index));
}

// An argument in place: a copy would be a variable of its own, and hide that the body takes a pointer to const.
template <std::size_t I, class P>
struct ArgumentHolder {
  P value = make_argument<P>(static_cast<int>(I));
};
template <class Indices, class... P>
struct ArgumentPack;
template <std::size_t... I, class... P>
struct ArgumentPack<std::index_sequence<I...>, P...> : ArgumentHolder<I, P>... {
  template <class K>
  void pass_to(const K& kernel) {
    kernel(ArgumentHolder<I, P>::value...);
  }
};

template <class K, class... A>
concept Accepts = requires(const K& kernel, argument_t<A>... arguments) {
  kernel(arguments...);
};

// Fails to compile, in words and then with the compiler's own reason, unless the kernel takes these arguments.
template <class K, class... A>
constexpr void check_arguments() {
  static_assert(
      Accepts<K, A...>,
      "teeny: these arguments do not fit the kernel's parameters (count, dtype, or a const buffer for a Ptr<D>); the "
      "next error names the parameter");
  if constexpr (!Accepts<K, A...>) std::declval<const K&>()(std::declval<argument_t<A>>()...);
}

template <class K>
const char* parameter_names_of() {
  if constexpr (requires { K::teeny_parameter_names; }) return K::teeny_parameter_names;
  else return nullptr;
}

template <class K>
class Describe {
 public:
  explicit Describe(const K& kernel) : values_(constants_of(kernel)) {
    description = {type_name<K>(), parameter_names_of<K>(), names_.data(), values_.data(),
                   static_cast<int>(values_.size())};
  }
  Describe(const Describe&) = delete;
  KernelDescription description;

 private:
  static constexpr auto names_ = constant_names<K>();
  decltype(constants_of(std::declval<const K&>())) values_;
};

template <class... P>
struct RecordWith {  // P: the run-time types that are passed
  template <class K>
  static const RecordedKernelPtr& run(const K& kernel) {
    static RecordingTable& table = *new RecordingTable;  // to the process's end: launches may come from destructors
    static constexpr ElementType types[] = {tl::element_type<typename P::dtype>..., {}};
    const Describe<K> describe(kernel);
    return table.find_or_record(describe.description, types, sizeof...(P), &call<K>, &kernel);
  }

 private:
  template <class K>
  static void call(const void* kernel) {
    ArgumentPack<std::index_sequence_for<P...>, P...> arguments;
    arguments.pass_to(*static_cast<const K*>(kernel));
  }
};

// The recording of `kernel` for launch arguments of types A: made on the first call with these constants, found
// afterwards.
template <class... A, class K>
const RecordedKernelPtr& recorded(const K& kernel) {
  static const RecordedKernelPtr none;
  check_arguments<K, A...>();
  if constexpr (Accepts<K, A...>) return RecordWith<argument_t<A>...>::run(kernel);
  else return none;
}

// ---- parameters from the call operator's signature, for compile<float>(K{})

template <class Function>
struct CallSignature;
template <class K, class... P>
struct CallSignature<void (K::*)(P...) const> {
  using parameters = std::tuple<std::remove_cvref_t<P>...>;
  static RecordedKernelPtr record(const K& kernel) { return RecordWith<std::remove_cvref_t<P>...>::run(kernel); }
};
template <class K, class... D>
struct SignatureOf {
  using type = CallSignature<decltype(&K::template operator()<D...>)>;
};
template <class K>
struct SignatureOf<K> {
  using type = CallSignature<decltype(&K::operator())>;
};
// signature_of<K, float>::parameters is a std::tuple of tl types; ::record(kernel) gives the recording.
template <class K, class... D>
using signature_of = typename SignatureOf<K, D...>::type;

}  // namespace detail

// Records a kernel for element types D…, as device.compile<D…>(kernel) does, without a device: for tools and tests.
template <class... D, class K>
detail::RecordedKernelPtr record(const K& kernel) {
  return detail::signature_of<K, D...>::record(kernel);
}

}  // namespace teeny
