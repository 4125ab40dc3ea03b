#include "runtime/driver/driver.hpp"

namespace teeny::runtime {

const std::vector<std::unique_ptr<Driver>>& drivers() {
  // Never destroyed: buffers of static storage may outlive every other static object.
  static const auto& list = *[] {
    auto* made = new std::vector<std::unique_ptr<Driver>>;
    made->push_back(make_cpu_driver());
    made->push_back(make_interpreter_driver());
    return made;
  }();
  return list;
}

}  // namespace teeny::runtime
