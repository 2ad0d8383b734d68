# cmake -DPROGRAM=... -DEXPECTED=... -P compare.cmake: runs the program and compares its output with a file.
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE seen ERROR_VARIABLE errors RESULT_VARIABLE code)
file(READ ${EXPECTED} wanted)
if(NOT code EQUAL 0)
    message(FATAL_ERROR "${PROGRAM} ended with ${code}\n${errors}")
elseif(NOT seen STREQUAL wanted)
    message(FATAL_ERROR "${PROGRAM} printed\n${seen}\nbut ${EXPECTED} has\n${wanted}")
endif()
