# oneDNN, a second way to convolve: AUTO gives it to the tests as an oracle where it is found, ON to the library as well
# (CENTRA_CONV=onednn then chooses it), OFF to nobody. Its own CMake package stops the configuration where OpenCL's headers
# are missing, so header and library are looked for by hand. Sanitizers see races and leaks inside it: not with them.
set(CENTRA_WITH_ONEDNN AUTO CACHE STRING "oneDNN's convolutions: AUTO (for the tests), ON or OFF")
set(centra_onednn "")
if(CENTRA_WITH_ONEDNN AND NOT CENTRA_SANITIZE)
    find_path(CENTRA_ONEDNN_INCLUDE oneapi/dnnl/dnnl.h)
    find_library(CENTRA_ONEDNN_LIBRARY dnnl)
    mark_as_advanced(CENTRA_ONEDNN_INCLUDE CENTRA_ONEDNN_LIBRARY)
    if(CENTRA_ONEDNN_INCLUDE AND CENTRA_ONEDNN_LIBRARY)
        set(centra_onednn tests)
        if(NOT CENTRA_WITH_ONEDNN STREQUAL "AUTO")
            set(centra_onednn library)
        endif()
    elseif(NOT CENTRA_WITH_ONEDNN STREQUAL "AUTO")
        message(FATAL_ERROR "CENTRA_WITH_ONEDNN is ${CENTRA_WITH_ONEDNN}, but oneapi/dnnl/dnnl.h or its library was not found")
    endif()
endif()
