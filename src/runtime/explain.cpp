#include "runtime/explain.hpp"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

#include <teeny/error.hpp>
#include <teeny/explain.hpp>

#include "runtime/compiler/compiler.hpp"
#include "runtime/messages.hpp"

namespace teeny {

namespace runtime {

std::string with_names(const std::string& dump, const trace::Trace& trace) {
  constexpr std::string_view word = "explain";
  if (trace.parameter_names.empty()) return dump;
  std::string names = ";names=";
  for (const std::string& name : trace.parameter_names) names += (names.back() == '=' ? "" : ":") + name;
  std::string result;
  for (std::size_t first = 0; first <= dump.size();) {
    const std::size_t comma = std::min(dump.find(',', first), dump.size());
    const std::string one = dump.substr(first, comma - first);
    const bool asks = one.substr(0, one.find(';')) == word;
    result += (first == 0 ? "" : ",") + one + (asks ? names : "");
    first = comma + 1;
  }
  return result;
}

std::string with_lines(const std::string& text, const trace::Trace& trace) {
  constexpr std::string_view word = "operation ";
  std::string result;
  for (std::size_t first = 0; first < text.size();) {
    const std::size_t at = text.find(word, first);
    result += text.substr(first, at - first);
    if (at == std::string::npos) break;
    first = at + word.size();
    std::int64_t number = -1;
    const auto [end, error] = std::from_chars(text.data() + first, text.data() + text.size(), number);
    const trace::Site* site = error == std::errc() ? site_of(trace, number) : nullptr;
    if (site == nullptr || site->file.empty()) {
      result += word;
      continue;
    }
    result += site->file.substr(site->file.rfind('/') + 1) + ":" + std::to_string(site->line);
    first = static_cast<std::size_t>(end - text.data());
  }
  return result;
}

namespace {

[[noreturn]] void wrong(const std::string& rule, const std::string& help) {
  throw Error(ErrorCode::invalid_argument, "explain: " + rule + "\nhelp: " + help);
}

constexpr const char* stages[] = {"explain", "tt", "tile", "staged", "synchronised", "thread", "llvm", "asm"};

void check_stage(const std::string& stage) {
  std::string known;
  for (const char* one : stages) {
    if (stage == one) return;
    known += (known.empty() ? "" : ", ") + std::string(one);
  }
  wrong("a stage of the compile; got '" + stage + "', expected one of " + known, "leave it out for the explanation");
}

std::string dump_of(const ExplainOptions& options) {
  if (options.stage != "explain") return options.stage;
  std::string dump = options.stage;
  const auto list = [&](const char* name, const auto& numbers) {
    dump += name;
    for (std::size_t i = 0; i < numbers.size(); ++i) dump += (i == 0 ? "" : ":") + std::to_string(numbers[i]);
  };
  if (options.json) dump += ";json";
  if (options.grid[0] > 0) list(";grid=", options.grid);
  if (!options.turns.empty()) list(";trips=", options.turns);
  return dump;
}

// Arguments that are said to be 1, by index.
std::vector<std::size_t> ones_of(const ExplainOptions& options, const trace::Trace& trace) {
  std::vector<std::size_t> result;
  for (const std::string& one : options.ones) {
    const auto& names = trace.parameter_names;
    std::size_t index = static_cast<std::size_t>(std::find(names.begin(), names.end(), one) - names.begin());
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), number);
    if (index == names.size() && error == std::errc() && end == one.data() + one.size()) index = number - 1;
    if (index >= names.size())
      wrong("an argument of the kernel; got '" + one + "', expected a name or a number up to " + std::to_string(names.size()),
            "the first argument has the number 1");
    result.push_back(index);
  }
  return result;
}

// What a launch with aligned buffers and strides would offer, in the order of the analysis.
std::vector<teeny_fact> assumed(const std::vector<teeny_fact>& relevant, const ExplainOptions& options,
                                const std::vector<std::size_t>& ones) {
  std::vector<teeny_fact> facts;
  for (const teeny_fact& fact : relevant) {
    const bool is_one = std::find(ones.begin(), ones.end(), fact.argument) != ones.end();
    const bool wide = fact.kind == TEENY_FACT_DIVISIBLE_BY_16 || fact.kind == TEENY_FACT_FITS_32;
    if (fact.kind == TEENY_FACT_EQUALS_ONE ? is_one : wide && options.facts && !is_one) facts.push_back(fact);
  }
  return facts;
}

std::string explain(CompileRequest request, const trace::Trace& trace, const ExplainOptions& options) {
  check_stage(options.stage);
  request.options = options.compile;
  request.analyse_only = true;
  const auto compiled = [&] {
    CompileResult result = chosen_compiler().compile(request);
    if (!result.ok) throw diagnostics_error(trace, result.diagnostics, request.target, {});
    return result;
  };
  const CompileResult analysis = compiled();
  trace::Trace named;  // text has no more than the number of its arguments
  named.parameter_names = trace.parameter_names;
  if (request.is_text) {
    const auto metadata = nlohmann::json::parse(analysis.metadata);
    for (std::size_t i = 0; i < metadata.at("arguments").size(); ++i)
      named.parameter_names.push_back("argument " + std::to_string(i + 1));
  }
  request.analyse_only = false;
  request.facts = assumed(analysis.relevant_facts, options, ones_of(options, named));
  request.dump = with_names(dump_of(options), named);
  std::string text = compiled().dump_text;
  if (text.empty())
    throw Error(ErrorCode::unsupported, "explain: a stage of the target's compile; got '" + options.stage + "' for '" +
                                            request.target + "', which has none\nhelp: tt is of all targets");
  if (options.stage == "explain") return with_lines(text, trace);
  return text.substr(std::min(text.find('\n') + 1, text.size()));  // the stage's name stands above it
}

}  // namespace

}  // namespace runtime

namespace detail {

std::string explain_recorded(const RecordedKernel& kernel, std::string_view target, const ExplainOptions& options) {
  runtime::CompileRequest request;
  request.body = kernel.body();
  request.is_text = kernel.is_text();
  request.kernel = kernel.name();
  request.target = target;
  return runtime::explain(std::move(request), kernel.trace(), options);
}

}  // namespace detail

std::string explain_text(std::string_view text, const std::string& name, std::string_view target, const ExplainOptions& options) {
  trace::Trace unread;
  unread.kernel = name;
  runtime::CompileRequest request;
  request.body.assign(text.begin(), text.end());
  request.is_text = true;
  request.kernel = name;
  request.target = target;
  return runtime::explain(std::move(request), unread, options);
}

}  // namespace teeny
