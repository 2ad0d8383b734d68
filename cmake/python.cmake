# The tests of python/centra, a run of their own each: they need a python3 with NumPy, some of them more, and skip without.
# A sanitized library cannot be loaded into a python3 that is not.
if(CENTRA_SANITIZE OR NOT TARGET centra)
    return()
endif()
function(centra_add_python name)
    add_test(NAME python-${name} COMMAND ${CMAKE_SOURCE_DIR}/tools/python_test.sh ${name} ${ARGN})
    set_tests_properties(python-${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${centra_test_seconds} ENVIRONMENT
        "CENTRA_LIBRARY=$<TARGET_FILE:centra-shared>;CENTRA_PROGRAM=$<TARGET_FILE:centra>")
endfunction()
centra_add_python(library)
centra_add_python(score)
centra_add_python(pictures)
centra_add_python(package)
centra_add_python(everyday)
centra_add_python(torch torch)
centra_add_python(onnx onnx)
