# glibc 2.34 moved libdl and libpthread into libc and gave their functions new versions. What links with these stand-ins, which
# have the old versions, loads with an older glibc than that of the machine that built it.
add_library(old_glibc INTERFACE)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  foreach(library dl.so.2 pthread.so.0)
    string(REGEX MATCH "^[a-z]+" name ${library})
    set(map ${CMAKE_CURRENT_LIST_DIR}/${name}.map)
    add_library(old_${name} SHARED ${CMAKE_CURRENT_LIST_DIR}/${name}.cpp)
    set_target_properties(old_${name} PROPERTIES OUTPUT_NAME ${library} SUFFIX "" NO_SONAME ON LINK_DEPENDS ${map}
      CXX_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/glibc)
    target_link_options(old_${name} PRIVATE -nostdlib -Wl,-soname,lib${library} -Wl,--version-script=${map})
  endforeach()
  target_link_libraries(old_glibc INTERFACE -Wl,--push-state,--no-as-needed old_dl old_pthread -Wl,--pop-state)
else()
  find_package(Threads REQUIRED)
  target_link_libraries(old_glibc INTERFACE ${CMAKE_DL_LIBS} Threads::Threads)
endif()
