# The emulated device's native part: the shim's second backend, and the runtime libraries that programs load instead of NVIDIA's.
set(CUVET_EMULATED_SOURCES
    ${CMAKE_CURRENT_LIST_DIR}/backend.cpp
    ${CMAKE_CURRENT_LIST_DIR}/host_functions.cpp
    ${CMAKE_CURRENT_LIST_DIR}/memory.cpp
    ${CMAKE_CURRENT_LIST_DIR}/wire.cpp)

foreach(major 12 13)
  set(target cudart${major})
  set(map ${CMAKE_CURRENT_LIST_DIR}/cudart_${major}.map)
  add_library(${target} SHARED ${CMAKE_CURRENT_LIST_DIR}/cudart.cpp ${CMAKE_SOURCE_DIR}/native/runtime.cpp)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME cudart SUFFIX .so.${major} NO_SONAME ON LINK_DEPENDS ${map})
  target_include_directories(${target} PRIVATE native)
  target_compile_definitions(${target} PRIVATE CUDART_MAJOR=${major})
  # Each wrapper keeps its own frame: the report's stacks begin with the function that the program called.
  target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti -fno-optimize-sibling-calls -fno-omit-frame-pointer)
  target_link_libraries(${target} PRIVATE old_glibc)
  target_link_options(${target} PRIVATE -Wl,-soname,libcudart.so.${major} -Wl,--version-script=${map} -Wl,--no-undefined
    -static-libgcc -static-libstdc++)
  if(SKBUILD)
    install(TARGETS ${target} LIBRARY DESTINATION cuvet/_native)
  endif()
endforeach()

# cuDNN, cuBLAS, …: one small library for each file name of NVIDIA's. NCCL's symbols have no version, cuTENSOR's those of its map, those
# of the others the name of the file.
file(GLOB library_lists CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/generated/lib*.inc)
foreach(list ${library_lists})
  get_filename_component(soname ${list} NAME)
  string(REGEX REPLACE "\\.inc$" "" soname ${soname})
  set(target emulated_${soname})
  set(map ${CMAKE_CURRENT_LIST_DIR}/generated/${soname}.map)
  if(NOT EXISTS ${map})
    set(map ${CMAKE_BINARY_DIR}/${soname}.map)
    string(REGEX REPLACE "^libnccl.*" "" version ${soname})
    file(WRITE ${map} "${version} { global: *; };\n")
  endif()
  add_library(${target} SHARED ${CMAKE_CURRENT_LIST_DIR}/library.cpp)
  string(REGEX MATCH "^lib(.*)(\\.so\\.[0-9]+)$" whole ${soname})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${CMAKE_MATCH_1} SUFFIX ${CMAKE_MATCH_2} NO_SONAME ON)
  target_compile_definitions(${target} PRIVATE LIBRARY="generated/${soname}.inc")
  target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti)
  target_link_libraries(${target} PRIVATE old_glibc)
  target_link_options(${target} PRIVATE -Wl,-soname,${soname} -Wl,--version-script=${map} -Wl,--no-undefined -Wl,--as-needed)
  if(SKBUILD)
    install(TARGETS ${target} LIBRARY DESTINATION cuvet/_native)
  endif()
endforeach()
