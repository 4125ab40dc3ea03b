# Steps of the consumer's test; any that fails ends it.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()
step(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${WORK}/build -D CMAKE_PREFIX_PATH=${WORK}/installed
     -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -D CMAKE_CXX_FLAGS=${flags})
step(${CMAKE_COMMAND} --build ${WORK}/build)
step(${CMAKE_COMMAND} -E env TEENY_CACHE=${WORK}/cache ${WORK}/build/consumer)
message("${output}")
# A second process is served from the cache, and without the compiler library altogether.
step(${CMAKE_COMMAND} -E env TEENY_CACHE=${WORK}/cache TEENY_COMPILER_LIBRARY=/nowhere/libteeny_compiler.so ${WORK}/build/consumer)
message("${output}")
