# centra serve: libmicrohttpd is optional, and without it the command says so. The parts that need no HTTP library are built
# in any case, for the tests.
set(CENTRA_WITH_SERVE AUTO CACHE STRING "centra serve, which needs libmicrohttpd: AUTO, ON or OFF")
set(centra_serve OFF)
if(CENTRA_WITH_SERVE)
    find_path(CENTRA_MICROHTTPD_INCLUDE microhttpd.h)
    find_library(CENTRA_MICROHTTPD_LIBRARY microhttpd)
    mark_as_advanced(CENTRA_MICROHTTPD_INCLUDE CENTRA_MICROHTTPD_LIBRARY)
    if(CENTRA_MICROHTTPD_INCLUDE AND CENTRA_MICROHTTPD_LIBRARY)
        set(centra_serve ON)
    elseif(NOT CENTRA_WITH_SERVE STREQUAL "AUTO")
        message(FATAL_ERROR "CENTRA_WITH_SERVE is ${CENTRA_WITH_SERVE}, but microhttpd.h or its library was not found")
    endif()
endif()

file(GLOB serve_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/serve/*.c)
file(GLOB page_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/serve/page/*)
if(NOT centra_serve)
    list(FILTER serve_sources EXCLUDE REGEX "/serve/(server|http)\\.c$")
endif()
# what reads requests by itself, for the fuzz target
set(centra_upload_sources ${CMAKE_SOURCE_DIR}/src/serve/guard.c ${CMAKE_SOURCE_DIR}/src/serve/measure.c
    ${CMAKE_SOURCE_DIR}/src/serve/multipart.c)
set(centra_record_sources ${CMAKE_SOURCE_DIR}/src/app/record.c ${CMAKE_SOURCE_DIR}/src/app/rows.c) # and records
set(centra_page ${CMAKE_BINARY_DIR}/page.c)
add_custom_command(OUTPUT ${centra_page}
    COMMAND ${CMAKE_COMMAND} -DOUT=${centra_page} -DFOLDER=${CMAKE_SOURCE_DIR}/src/serve/page
        -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${page_sources} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake COMMENT "Embedding the page" VERBATIM)
add_library(objects-serve OBJECT ${serve_sources} ${centra_page})
target_link_libraries(objects-serve PRIVATE centra-flags)
add_library(centra-serve INTERFACE)
if(centra_serve)
    target_include_directories(objects-serve SYSTEM PRIVATE ${CENTRA_MICROHTTPD_INCLUDE})
    target_link_libraries(centra-serve INTERFACE ${CENTRA_MICROHTTPD_LIBRARY})
    target_compile_definitions(centra-serve INTERFACE CENTRA_HAVE_SERVE)
endif()
