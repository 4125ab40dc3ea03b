// Kernels from text: .ttir files that Python Triton dumped, or tt modules written by hand.
//
//   auto kernel = teeny::TextKernel::read(device, text, "softmax.ttir");
//   kernel({n_rows}, {x, y, n_cols});
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <teeny/launch.hpp>

namespace teeny {

// A buffer or a number. Numbers are converted to the parameter's type and range-checked at the launch.
class TextArgument {
 public:
  TextArgument(AnyBuffer buffer) : buffer_(std::move(buffer)), form_(Form::buffer) {}
  template <class T>
  TextArgument(const Buffer<T>& buffer) : TextArgument(AnyBuffer(buffer)) {}
  template <std::signed_integral T>
  TextArgument(T value) : integer_(value), form_(Form::integer) {}
  template <std::unsigned_integral T>
  TextArgument(T value) : natural_(value), form_(Form::natural) {}
  template <std::floating_point T>
  TextArgument(T value) : real_(value), form_(Form::real) {}

  bool is_buffer() const { return form_ == Form::buffer; }
  const AnyBuffer& buffer() const { return buffer_; }
  // The launch's slot as parameter `index` of `kernel`; throws invalid_argument.
  std::uint64_t bits(const detail::RecordedKernel& kernel, std::size_t index) const {
    if (form_ == Form::integer) return kernel.argument(index, static_cast<long long>(integer_));
    if (form_ == Form::natural) return kernel.argument(index, static_cast<unsigned long long>(natural_));
    return kernel.argument(index, real_);
  }

 private:
  enum class Form : std::uint8_t { buffer, integer, natural, real };
  AnyBuffer buffer_;
  union {
    std::int64_t integer_;
    std::uint64_t natural_;
    double real_ = 0;
  };
  Form form_;
};

// A kernel whose parameters' types are known when it has been read. May be copied, and used by several threads.
class TEENY_EXPORT TextKernel {
 public:
  // Reads the one public function of `text`. `name` stands in messages. Throws compile_failed with the text's line where it
  // cannot be read, compiler_missing without libteeny_compiler.
  static TextKernel read(const Device& device, std::string_view text, const std::string& name = "kernel.ttir",
                         const CompileOptions& options = {});

  // In order; integers are signless in text and are given as signed.
  const std::vector<Parameter>& parameters() const { return kernel_->parameters(); }

  // Throws invalid_argument for a wrong number of arguments or a buffer whose element type has another width or kind.
  void operator()(Grid grid, std::span<const TextArgument> arguments) const;
  void operator()(Grid grid, std::initializer_list<TextArgument> arguments) const {
    (*this)(grid, std::span<const TextArgument>(arguments.begin(), arguments.size()));
  }

 private:
  TextKernel(runtime::DeviceState* device, runtime::Program* program, detail::RecordedKernelPtr kernel)
      : device_(device), program_(program), kernel_(std::move(kernel)) {}

  runtime::DeviceState* device_;
  runtime::Program* program_;
  detail::RecordedKernelPtr kernel_;
};

}  // namespace teeny
