#include "runtime/driver/vulkan/libvulkan.hpp"

#include <cstring>
#include <mutex>

#include <teeny/error.hpp>

#include "support/dynamic_library.hpp"
#include "support/log.hpp"

namespace teeny::runtime::vulkan {

namespace {

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

struct Library {
  Instance instance;
  std::string reason;  // why there is none; empty: there is
};

// What the validation layer said and no check has thrown yet.
struct Findings {
  std::mutex mutex;
  std::string text;  // guarded by mutex
};
Findings& findings() {
  static auto& found = *new Findings;
  return found;
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  Findings& found = findings();
  const std::lock_guard lock(found.mutex);
  if (found.text.empty()) found.text = data->pMessage;
  return VK_FALSE;
}

bool has_validation_layer(PFN_vkGetInstanceProcAddr get) {
  const auto enumerate = reinterpret_cast<PFN_vkEnumerateInstanceLayerProperties>(
      get(VK_NULL_HANDLE, "vkEnumerateInstanceLayerProperties"));
  std::uint32_t count = 0;
  if (enumerate == nullptr || enumerate(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (enumerate(&count, layers.data()) < 0) return false;
  layers.resize(count);
  for (const VkLayerProperties& layer : layers)
    if (std::strcmp(layer.layerName, validation_layer) == 0) return true;
  return false;
}

VkDebugUtilsMessengerCreateInfoEXT messenger() {
  return {.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
          .pNext = nullptr,
          .flags = 0,
          .messageSeverity =
              VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
          .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
          .pfnUserCallback = on_message,
          .pUserData = nullptr};
}

std::string make_instance(PFN_vkGetInstanceProcAddr get, Instance& made) {
  const bool validate = support::environment("TEENY_VULKAN_VALIDATION") == "1";
  if (validate && !has_validation_layer(get))
    return std::string("TEENY_VULKAN_VALIDATION is 1 and ") + validation_layer +
           " is not installed (Debian: vulkan-validationlayers)";
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .pNext = nullptr,
                                      .pApplicationName = "teeny",
                                      .applicationVersion = 0,
                                      .pEngineName = "teeny",
                                      .engineVersion = 0,
                                      .apiVersion = VK_API_VERSION_1_3};
  const VkDebugUtilsMessengerCreateInfoEXT listener = messenger();
  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  if (validate) {
    info.pNext = &listener;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &validation_layer;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
  }
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(VK_NULL_HANDLE, "vkCreateInstance"));
  if (create == nullptr) return "the Vulkan loader has no vkCreateInstance";
  const VkResult result = create(&info, nullptr, &made.handle);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) return "the Vulkan loader finds no driver (Debian: mesa-vulkan-drivers)";
  if (result != VK_SUCCESS) return "the Vulkan loader did not start (vkCreateInstance: " + text_of(result) + ")";
  const std::string missing = load_symbols(get, made.handle, made.vk);
  if (!missing.empty()) return "the Vulkan loader is too old: it has no " + missing;
  if (!validate) return {};
  const auto listen = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      get(made.handle, "vkCreateDebugUtilsMessengerEXT"));
  VkDebugUtilsMessengerEXT handle = VK_NULL_HANDLE;
  if (listen == nullptr || listen(made.handle, &listener, nullptr, &handle) != VK_SUCCESS)
    return "the validation layer's messages cannot be had";
  return {};
}

Library load() {
  Library library;
  const std::string chosen = support::environment("TEENY_VULKAN_LIBRARY");
  std::string error;
  auto file = support::DynamicLibrary::open(chosen.empty() ? "libvulkan.so.1" : chosen, error);
  if (!file) {
    library.reason = "the Vulkan loader is not installed (" + error + ")";
    return library;
  }
  const auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(file.symbol("vkGetInstanceProcAddr"));
  if (get == nullptr) {
    library.reason = "the Vulkan loader has no vkGetInstanceProcAddr";
    return library;
  }
  file.leak();  // devices outlive every object of ours
  library.reason = make_instance(get, library.instance);
  return library;
}

const Library& library() {
  static const auto& loaded = *new Library(load());
  return loaded;
}

}  // namespace

const Instance* instance() { return library().reason.empty() ? &library().instance : nullptr; }
const std::string& unavailable() { return library().reason; }

std::string load_symbols(PFN_vkGetInstanceProcAddr get, VkInstance handle, InstanceSymbols& symbols) {
  std::string missing;
#define TEENY_VULKAN_FIND(name)                                                       \
  symbols.name = reinterpret_cast<PFN_vk##name>(get(handle, "vk" #name));             \
  if (symbols.name == nullptr && missing.empty()) missing = "vk" #name;
  TEENY_VULKAN_INSTANCE_SYMBOLS(TEENY_VULKAN_FIND)
#undef TEENY_VULKAN_FIND
  symbols.GetPhysicalDeviceCooperativeMatrixPropertiesKHR =
      reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
          get(handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  return missing;
}

std::string load_symbols(const InstanceSymbols& instance, VkDevice device, DeviceSymbols& symbols) {
  std::string missing;
#define TEENY_VULKAN_FIND(name)                                                                          \
  symbols.name = reinterpret_cast<PFN_vk##name>(instance.GetDeviceProcAddr(device, "vk" #name));         \
  if (symbols.name == nullptr && missing.empty()) missing = "vk" #name;
  TEENY_VULKAN_DEVICE_SYMBOLS(TEENY_VULKAN_FIND)
#undef TEENY_VULKAN_FIND
  return missing;
}

std::string text_of(VkResult result) {
  switch (result) {
#define TEENY_VULKAN_RESULT(name) \
  case name:                      \
    return #name;
    TEENY_VULKAN_RESULT(VK_NOT_READY)
    TEENY_VULKAN_RESULT(VK_TIMEOUT)
    TEENY_VULKAN_RESULT(VK_INCOMPLETE)
    TEENY_VULKAN_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY)
    TEENY_VULKAN_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    TEENY_VULKAN_RESULT(VK_ERROR_INITIALIZATION_FAILED)
    TEENY_VULKAN_RESULT(VK_ERROR_DEVICE_LOST)
    TEENY_VULKAN_RESULT(VK_ERROR_MEMORY_MAP_FAILED)
    TEENY_VULKAN_RESULT(VK_ERROR_LAYER_NOT_PRESENT)
    TEENY_VULKAN_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT)
    TEENY_VULKAN_RESULT(VK_ERROR_FEATURE_NOT_PRESENT)
    TEENY_VULKAN_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER)
    TEENY_VULKAN_RESULT(VK_ERROR_TOO_MANY_OBJECTS)
    TEENY_VULKAN_RESULT(VK_ERROR_UNKNOWN)
#undef TEENY_VULKAN_RESULT
    default:
      return "VkResult " + std::to_string(static_cast<int>(result));
  }
}

void check(VkResult result, const char* operation) {
  if (result < 0) {
    const bool lost = result == VK_ERROR_DEVICE_LOST;
    throw Error(ErrorCode::device_failed,
                std::string(operation) + ": the device must carry it out; got " + text_of(result) +
                    ", expected success" +
                    (lost ? "\nhelp: a kernel touched memory outside of its buffers or was stopped, and the device is "
                            "lost: find it with TEENY_DEVICE=interpreter, then start the process anew"
                          : "\nhelp: look at the device with vulkaninfo --summary"));
  }
  Findings& found = findings();
  const std::lock_guard lock(found.mutex);
  if (found.text.empty()) return;
  const std::string text = std::move(found.text);
  found.text.clear();
  throw Error(ErrorCode::device_failed, std::string(operation) + ": the validation layer must find nothing; got " +
                                            text + "\nhelp: this is a mistake in teeny or in its compiler: report it");
}

}  // namespace teeny::runtime::vulkan
