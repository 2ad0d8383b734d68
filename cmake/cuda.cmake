# The CUDA backend is a plug-in that the library opens at run time; without nvcc it is left out.
file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cuda/*.cu)
if(CENTRA_WITH_CUDA STREQUAL "OFF" OR CENTRA_SANITIZE)
    set(centra_cuda_summary "off")
else()
    include(CheckLanguage)
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
        set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
    endif()
    if(NOT CMAKE_CUDA_COMPILER)
        check_language(CUDA)
    endif()
    if(CMAKE_CUDA_COMPILER)
        # machine code for Hopper with its own instructions and for Ampere, and PTX for what comes later
        set(CMAKE_CUDA_ARCHITECTURES OFF)
        enable_language(CUDA)
        find_package(CUDAToolkit REQUIRED)
        add_library(centra-cuda MODULE ${cuda_sources})
        target_include_directories(centra-cuda PRIVATE ${CMAKE_SOURCE_DIR}/src)
        target_compile_options(centra-cuda PRIVATE --extended-lambda -Xcompiler=-Wall
            --generate-code=arch=compute_90a,code=sm_90a --generate-code=arch=compute_80,code=[sm_80,compute_80])
        set_source_files_properties(${CMAKE_SOURCE_DIR}/src/cuda/pictures_crop.cu
            ${CMAKE_SOURCE_DIR}/src/cuda/pictures_resize.cu PROPERTIES COMPILE_OPTIONS --fmad=false) # the CPU's bits
        target_link_libraries(centra-cuda PRIVATE CUDA::cudart_static CUDA::cublas)
        target_link_options(centra-cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,-z,defs) # what it needs, it brings
        set_target_properties(centra-cuda PROPERTIES PREFIX "" CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static
            CUDA_VISIBILITY_PRESET hidden CUDA_ARCHITECTURES OFF BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}")
        set(centra_cuda_summary "centra-cuda.so (${CMAKE_CUDA_COMPILER})")
    elseif(CENTRA_WITH_CUDA STREQUAL "ON")
        message(FATAL_ERROR "CENTRA_WITH_CUDA is ON, but there is no CUDA compiler: put nvcc on PATH or set CUDACXX")
    else()
        set(centra_cuda_summary "no nvcc found: CPU only")
    endif()
endif()
