# libFuzzer targets fuzz-NAME from tests/fuzz/NAME.c; configure with CC=clang and the `fuzz` preset. The parsers are compiled
# once for all of them: what needs no more than base, pictures and tensors, the recipes, and packs of known pictures.
if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CENTRA_FUZZ needs clang, but the compiler is ${CMAKE_C_COMPILER_ID}: use cmake --preset fuzz")
endif()
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*.c)
list(FILTER fuzz_sources EXCLUDE REGEX "/replay\\.c$")
file(GLOB fuzzed_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/weights/*.c ${CMAKE_SOURCE_DIR}/src/data/*.c
    ${CMAKE_SOURCE_DIR}/src/tensor/*.c
    ${CMAKE_SOURCE_DIR}/src/train/recipe.c ${CMAKE_SOURCE_DIR}/src/train/metrics.c
    ${CMAKE_SOURCE_DIR}/src/eval/interval.c ${CMAKE_SOURCE_DIR}/src/eval/card_read.c
    ${CMAKE_SOURCE_DIR}/src/api/calibration.c ${CMAKE_SOURCE_DIR}/src/api/support.c ${CMAKE_SOURCE_DIR}/src/api/support_pack.c)
add_compile_options(-fsanitize=fuzzer-no-link)
add_library(fuzzed OBJECT ${base_sources} ${picture_sources} ${fuzzed_sources} ${centra_upload_sources}
    ${centra_record_sources})
target_link_libraries(fuzzed PRIVATE centra-flags centra-pictures)
foreach(source ${fuzz_sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(fuzz-${name} ${source} $<TARGET_OBJECTS:fuzzed>)
    target_include_directories(fuzz-${name} PRIVATE ${CMAKE_SOURCE_DIR})
    target_link_libraries(fuzz-${name} PRIVATE centra-flags centra-pictures)
    target_link_options(fuzz-${name} PRIVATE -fsanitize=fuzzer)
endforeach()
