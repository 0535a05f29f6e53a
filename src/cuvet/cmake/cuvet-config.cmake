# Tests that run under cuvet: the commands cuvet_add_test and cuvet_wrap_tests (docs/loading.md).

get_filename_component(_cuvet_prefix "${CMAKE_CURRENT_LIST_DIR}/../../../../.." ABSOLUTE)
find_program(CUVET_EXECUTABLE cuvet HINTS "${_cuvet_prefix}/bin" DOC "The program cuvet")
unset(_cuvet_prefix)
if(NOT CUVET_EXECUTABLE)
  set(cuvet_FOUND FALSE)
  set(cuvet_NOT_FOUND_MESSAGE "the program cuvet was not found: set CUVET_EXECUTABLE to its path")
  return()
endif()

# The command line before the program's own: DEVICE, FAIL_ON and ARGS of either command.
function(_cuvet_launcher result device fail_on)
  if(NOT device)
    set(device auto)
  endif()
  if(NOT fail_on)
    set(fail_on error)
  endif()
  set(${result} "${CUVET_EXECUTABLE}" run --device ${device} --fail-on ${fail_on} ${ARGN} -- PARENT_SCOPE)
endfunction()

# cuvet_add_test(NAME <name> COMMAND <program> [<argument>...] [DEVICE auto|real|emulated] [FAIL_ON error|warning]
#                [ARGS <option of cuvet run>...])
#
# As add_test(NAME COMMAND). The test fails if the program does, or if cuvet finds a mistake of the severity FAIL_ON or a worse one.
function(cuvet_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 test "" "NAME;DEVICE;FAIL_ON" "COMMAND;ARGS")
  if(NOT test_NAME OR NOT test_COMMAND)
    message(FATAL_ERROR "cuvet_add_test: write cuvet_add_test(NAME <name> COMMAND <program> [<argument>...])")
  endif()
  if(test_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cuvet_add_test(NAME ${test_NAME}): unknown argument ${test_UNPARSED_ARGUMENTS}")
  endif()
  list(GET test_COMMAND 0 program)
  if(TARGET "${program}")
    # As a text: the commands for lists would take the semicolons in arguments apart.
    string(LENGTH "${program}" length)
    string(SUBSTRING "${test_COMMAND}" ${length} -1 rest)
    set(test_COMMAND "$<TARGET_FILE:${program}>${rest}")
  endif()
  _cuvet_launcher(launcher "${test_DEVICE}" "${test_FAIL_ON}" ${test_ARGS})
  add_test(NAME "${test_NAME}" COMMAND ${launcher} ${test_COMMAND})
endfunction()

# cuvet_wrap_tests(<target>... [DEVICE auto|real|emulated] [FAIL_ON error|warning] [ARGS <option of cuvet run>...])
#
# All tests whose command is one of these targets run under cuvet: those of add_test and of gtest_discover_tests.
function(cuvet_wrap_tests)
  if(CMAKE_VERSION VERSION_LESS 3.29)
    message(FATAL_ERROR "cuvet_wrap_tests needs CMake 3.29 or newer; cuvet_add_test does not")
  endif()
  cmake_parse_arguments(PARSE_ARGV 0 tests "" "DEVICE;FAIL_ON" "ARGS")
  if(NOT tests_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "cuvet_wrap_tests: name the targets")
  endif()
  _cuvet_launcher(launcher "${tests_DEVICE}" "${tests_FAIL_ON}" ${tests_ARGS})
  set_target_properties(${tests_UNPARSED_ARGUMENTS} PROPERTIES TEST_LAUNCHER "${launcher}")
endfunction()
