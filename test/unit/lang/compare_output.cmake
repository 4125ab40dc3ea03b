# Fails unless the programs ONE and OTHER print the same, and something.
execute_process(COMMAND ${ONE} OUTPUT_VARIABLE one RESULT_VARIABLE one_result)
execute_process(COMMAND ${OTHER} OUTPUT_VARIABLE other RESULT_VARIABLE other_result)
if(NOT one_result EQUAL 0 OR NOT other_result EQUAL 0 OR one STREQUAL "")
  message(FATAL_ERROR "a program failed: ${one_result}, ${other_result}")
endif()
if(NOT one STREQUAL other)
  message(FATAL_ERROR "the two compilers recorded different bodies:\n${one}\n---\n${other}")
endif()
