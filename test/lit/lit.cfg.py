import os
import lit.formats

config.name = "teeny"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".ttir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.teeny_exec_root
config.environment["PATH"] = os.pathsep.join([config.teeny_tools, config.llvm_tools, config.environment["PATH"]])
# Programs are compiled anew, not taken from the user's cache.
config.environment["TEENY_CACHE"] = "off"
