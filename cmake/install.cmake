# What `make install` puts where: program, libraries, header, pkg-config file, CMake package, man pages, completions, recipes.
include(CMakePackageConfigHelpers)
if(TARGET centra)
    install(TARGETS centra RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS centra-shared EXPORT centra-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET centra-cuda)
    install(TARGETS centra-cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/centra)
endif()
if(TARGET centra-mpi)
    install(TARGETS centra-mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/centra)
endif()
install(FILES ${centra_archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_SOURCE_DIR}/include/centra.h ${CMAKE_SOURCE_DIR}/include/centra_own.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/centra FILES_MATCHING PATTERN "*.txt")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/models DESTINATION ${CMAKE_INSTALL_DATADIR}/centra FILES_MATCHING
    PATTERN "*.safetensors")

configure_file(${CMAKE_SOURCE_DIR}/cmake/centra.pc.in ${CMAKE_BINARY_DIR}/centra.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/centra.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/centra)
install(EXPORT centra-targets NAMESPACE centra:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/centra-config.cmake.in ${CMAKE_BINARY_DIR}/centra-config.cmake
    INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/centra-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/centra-config.cmake ${CMAKE_BINARY_DIR}/centra-config-version.cmake
    DESTINATION ${package_dir})

# The program writes its own manual; a cross-built one cannot run here.
if(TARGET centra AND NOT CMAKE_CROSSCOMPILING)
    file(STRINGS ${CMAKE_SOURCE_DIR}/src/app/commands.def command_lines REGEX "^COMMAND\\(")
    string(REGEX REPLACE "COMMAND\\(([a-z_]+)[^;]*" "\\1" centra_commands "${command_lines}")
    configure_file(${CMAKE_SOURCE_DIR}/cmake/manual.cmake.in ${CMAKE_BINARY_DIR}/manual.cmake @ONLY)
    install(SCRIPT ${CMAKE_BINARY_DIR}/manual.cmake)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/manual/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
    install(FILES ${CMAKE_BINARY_DIR}/manual/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME centra)
    install(FILES ${CMAKE_BINARY_DIR}/manual/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
        RENAME _centra)
    install(FILES ${CMAKE_BINARY_DIR}/manual/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        RENAME centra.fish)
endif()
