# The program: a client of centra.h with its own copy of base, linked statically so that it runs from where it lies.
file(GLOB_RECURSE app_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/app/*.c)
file(GLOB api_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/api/*.c)
if(app_sources AND api_sources)
    add_executable(centra ${app_sources} $<TARGET_OBJECTS:objects-base> $<TARGET_OBJECTS:objects-serve>)
    target_link_libraries(centra PRIVATE centra-static centra-flags centra-serve)
    target_compile_definitions(centra PRIVATE CENTRA_BUILD_TYPE="${CMAKE_BUILD_TYPE}")
endif()
