#include <teeny/text_kernel.hpp>

#include <nlohmann/json.hpp>

#include <teeny/error.hpp>

#include "runtime/device_state.hpp"
#include "runtime/messages.hpp"

namespace teeny {

namespace {

[[noreturn]] void wrong(const detail::RecordedKernel& kernel, const std::string& rule, const std::string& help) {
  throw Error(ErrorCode::invalid_argument, "launch " + kernel.name() + ": " + rule + "\nhelp: " + help);
}

// The DType of a signless type's text, integers taken as signed.
DType dtype_of_text(const std::string& text) {
  if (text == "i1") return DType::boolean;
  for (int i = 0; i < dtype_count; ++i)
    if (text == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  throw Error(ErrorCode::unsupported, "read: arguments of type " + text +
                                          " cannot be given by a launch; expected numbers or pointers to them"
                                          "\nhelp: pass a pointer and let the kernel cast it");
}

std::vector<Parameter> parameters_of(const std::string& metadata) {
  std::vector<Parameter> parameters;
  const nlohmann::json read = nlohmann::json::parse(metadata);  // outlives the loop over a part of it
  for (const nlohmann::json& argument : read.at("arguments"))
    parameters.push_back(
        {dtype_of_text(argument.at("type").get<std::string>()), argument.at("pointer").get<bool>(), false});
  return parameters;
}

// The same width and both floats of one format, or neither a float.
bool same_storage(DType a, DType b) { return a == b || (size_of(a) == size_of(b) && !is_float(a) && !is_float(b)); }

}  // namespace

TextKernel TextKernel::read(const Device& device, std::string_view text, const std::string& name,
                            const CompileOptions& options) {
  runtime::CompileRequest request;
  request.body.assign(text.begin(), text.end());
  request.is_text = true;
  request.kernel = name;
  request.target = device.info().target;
  request.options = options;
  request.analyse_only = true;
  const runtime::CompileResult result = runtime::chosen_compiler().compile(request);
  if (!result.ok) {
    trace::Trace unread;
    unread.kernel = name;
    throw runtime::diagnostics_error(unread, result.diagnostics, request.target, {});
  }
  auto kernel =
      std::make_shared<const detail::RecordedKernel>(name, std::move(request.body), parameters_of(result.metadata));
  return {device.state(), detail::find_program(device.state(), kernel, options), kernel};
}

void TextKernel::operator()(Grid grid, std::span<const TextArgument> arguments) const {
  const std::vector<Parameter>& wanted = parameters();
  if (arguments.size() != wanted.size())
    wrong(*kernel_,
          "one argument a parameter; got " + std::to_string(arguments.size()) + ", expected " +
              std::to_string(wanted.size()),
          "compare with the function's arguments in the text");
  std::vector<detail::LaunchArgument> slots(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const TextArgument& argument = arguments[i];
    if (argument.is_buffer() != wanted[i].pointer)
      wrong(*kernel_,
            kernel_->parameter_name(i) + (wanted[i].pointer ? " is a pointer; got a number, expected a buffer"
                                                            : " is a number; got a buffer, expected a number"),
            "compare with the function's arguments in the text");
    if (!argument.is_buffer()) {
      slots[i].bits = argument.bits(*kernel_, i);
      continue;
    }
    if (!same_storage(argument.buffer().dtype(), wanted[i].dtype))
      wrong(*kernel_,
            kernel_->parameter_name(i) + " points to " + name_of(wanted[i].dtype) + "; got a buffer of " +
                name_of(argument.buffer().dtype()),
            "make a buffer of that type");
    slots[i] = {argument.buffer().view().address, &argument.buffer().view()};
  }
  detail::launch_program(device_, program_, kernel_, grid, nullptr, slots.data(), slots.size());
}

}  // namespace teeny
