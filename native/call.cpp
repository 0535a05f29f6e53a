#include "call.h"

#include <string.h>

#include "driver.h"
#include "examples.h"
#include "guard.h"
#include "inject.h"
#include "inputs.h"
#include "kernel_arguments.h"
#include "launches.h"
#include "liveness.h"
#include "named.h"
#include "narrow.h"
#include "process.h"
#include "protect.h"
#include "quarantine.h"
#include "stacks.h"
#include "symbols.h"

namespace cuvet {

__thread Thread* current_thread;

constexpr int MOST_OBJECTS = 96;
constexpr int MOST_OUTPUTS = 16;

// What a record says of objects.
struct Fields {
    int object_count;  // first: mostly one line holds all that is filled
    int output_count;
    int subject;  // which object may be another where the call is made again: the first that is no stream, or 0; for
                  // a call that makes one, none of them
    ObjectField objects[MOST_OBJECTS];
    OutputField outputs[MOST_OUTPUTS];

    bool makes_one() const { return output_count == 1; }
    bool names_some() const { return output_count == 0 && object_count > 0; }
    const ObjectField& named() const { return objects[subject]; }
};

namespace {

constexpr uint32_t SUCCESS = 0;
constexpr uint64_t MOST_HANDED_OUT = 1 << 20;  // in an array
constexpr int NO_SUBJECT = -1;

bool enqueues_work(const EntryPoint& entry_point) {
    if (entry_point.flags & (ORDER | ORDER_ON_SUCCESS)) return false;
    for (const Role& role : roles_before(entry_point))
        if (role.action == Action::STREAM) return true;
    return false;
}

// Of cuFFT's plans, which are numbers, 0 may be one.
bool is_null(Kind kind, uint64_t handle) { return !handle && kind != Kind::CUFFT_PLAN; }

bool is_memory(Kind kind) { return kind == Kind::MEMORY || kind == Kind::HOST_MEMORY; }

// The newest registrations of host memory, by address: which one was meant by a call that unregisters something else.
constexpr uint32_t REGISTRATIONS = 64;
std::atomic<uint64_t> registrations[REGISTRATIONS];
std::atomic<uint32_t> registration_count;

void remember_registration(uint64_t address) {
    const uint32_t at = registration_count.fetch_add(1, std::memory_order_relaxed) % REGISTRATIONS;
    registrations[at].store(address, std::memory_order_relaxed);
}

// Whether a word that names no object seen so far is worth a record. Addresses may be interior or the host's; members
// of a struct that may be absent may be uninitialised. Libraries make objects for each other unseen.
bool is_surely_a_handle(const Role& role) {
    if (is_of_library(role.kind)) return false;
    if (role.action == Action::DESTROYS) return true;
    return !is_memory(role.kind) && !((role.flags & IN_STRUCT) && (role.flags & NULLABLE));
}

bool gives_object(const Role& role) {
    return role.action == Action::CREATES || role.action == Action::RETURNS || role.action == Action::REGISTERS;
}

bool makes_objects(const EntryPoint& entry_point) {
    for (const Role& role : roles_after(entry_point))
        if (gives_object(role)) return true;
    return false;
}

bool gives_array(const Role& role) {
    return (role.action == Action::RETURNS || role.action == Action::CREATES) && role.count != NO_PARAMETER;
}

uint64_t output_of(const Role& role, const uint64_t* words) {
    const uint64_t word = words[role.parameter];
    if (role.action == Action::REGISTERS) return word;
    return word ? load(reinterpret_cast<const char*>(word) + role.offset, role.bytes) : 0;
}

Object* named_parent(const EntryPoint& entry_point, const Role& role, const uint64_t* words) {
    uint64_t handle = words[role.parent];
    if (handle && entry_point.parameters[role.parent].out_bytes)
        handle = load(reinterpret_cast<const char*>(handle), 8);
    Object* object = handle ? find_named(role.parent_kind, handle) : nullptr;
    // A node that another is asked for is of the same graph.
    const bool is_sibling = object && role.kind == Kind::GRAPH_NODE && role.parent_kind == Kind::GRAPH_NODE;
    return is_sibling ? object->parent.load(std::memory_order_relaxed) : object;
}

Object* parent_of(const EntryPoint& entry_point, const Role& role, const uint64_t* words, uint64_t context) {
    if (role.parent != NO_PARAMETER) return named_parent(entry_point, role, words);
    if (!(role.flags & IN_CONTEXT) || !context || context == NOT_ASKED) return nullptr;
    Object* object = add_object(Kind::CONTEXT, context);
    // What lives in a context shows that it lives: its creation was not seen, or a reset has revived it.
    const uint64_t seen = object ? object->state.load(std::memory_order_relaxed) : 0;
    if (object && !is_alive(object)) {
        if (seen == 0)
            adopt(object, Kind::CONTEXT);
        else
            give_birth(object, seen, Kind::CONTEXT, nullptr, 0, 0);
    }
    return object;
}

// Asks the driver, which counts all who retain it, also by ways that the shim does not see. True if it cannot tell.
bool primary_context_is_active(uint64_t device) {
    uint32_t flags = 0;
    int32_t active = 1;
    ask_driver(SYMBOL_cuDevicePrimaryCtxGetState, device, address_of(flags), address_of(active));
    return active != 0;
}

// A context that has ended may be current still, so that the driver hands it out; only retaining it begins another
// life.
bool is_known_context(const Object* object, const Role& role, const EntryPoint& entry_point) {
    if (role.kind != Kind::CONTEXT || !object->state.load(std::memory_order_relaxed)) return false;
    const Role* last = entry_point.roles + entry_point.before_count + entry_point.after_count - 1;
    return last->action != Action::RETAINS;
}

// `found`: the object, if it is known already.
HOT void add_object_field(Fields* fields, const Role& role, uint64_t handle, const Object* found) {
    const bool null = is_null(role.kind, handle);
    if (fields->object_count == MOST_OBJECTS || (null && (role.flags & NULLABLE)) || is_builtin(role.kind, handle))
        return;
    const Object* object = found || null ? found : find_named(role.kind, handle);
    if (!object && !null && !is_surely_a_handle(role)) return;
    if (role.kind != Kind::STREAM && fields->subject == NO_SUBJECT) fields->subject = fields->object_count;
    ObjectField& field = fields->objects[fields->object_count++];
    field = {role.parameter, static_cast<uint8_t>(role.kind), 0, 0, handle, 0};
    if (!object) return;
    const uint64_t state = object->state.load(std::memory_order_acquire);
    field.generation = generation_of(state);
    const bool kept = state & KEPT && is_still_alive(object);
    field.flags = static_cast<uint16_t>((is_alive(object) ? OBJECT_ALIVE : 0) | (field.generation ? OBJECT_KNOWN : 0) |
                                        (kept ? OBJECT_KEPT : 0) | (state & RECORDED ? OBJECT_RECORDED : 0));
    field.context = object->context.load(std::memory_order_relaxed);
}

bool is_plain(const Role& role) { return !(role.flags & IN_STRUCT) && role.count == NO_PARAMETER; }

// Handles before the call, and room for what it will write. `found`: see Call.
void describe(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, Object* const* found,
              Fields* fields) {
    fields->object_count = fields->output_count = 0;
    fields->subject = NO_SUBJECT;
    for (int i = 0; i < entry_point.before_count; i++) {
        const Role& role = entry_point.roles[i];
        if (role.kind == Kind::NONE || role.kind == Kind::DEVICE) continue;
        const Object* known = i < MOST_FOUND && is_plain(role) ? found[i] : nullptr;
        each_handle(thread, role, words, [&](uint64_t handle) { add_object_field(fields, role, handle, known); });
    }
    if (fields->subject == NO_SUBJECT) fields->subject = 0;
    for (int i = 0; i < entry_point.parameter_count && fields->output_count < MOST_OUTPUTS; i++)
        if (entry_point.parameters[i].out_bytes && words[i])
            fields->outputs[fields->output_count++] = {static_cast<uint8_t>(i), 0, 0, 0, 0};
    for (const Role& role : roles_after(entry_point)) {
        if (fields->output_count == MOST_OUTPUTS) break;
        const bool in_struct = role.flags & IN_STRUCT;
        const bool creates = role.action == Action::CREATES || role.action == Action::RETURNS;
        if (role.action != Action::REGISTERS && !(creates && in_struct)) continue;
        fields->outputs[fields->output_count++] = {role.parameter, static_cast<uint8_t>(role.kind), 0, 0, 0};
    }
}

const Role* role_of_output(const EntryPoint& entry_point, uint8_t parameter) {
    for (const Role& role : roles_after(entry_point)) {
        if (gives_object(role) && !gives_array(role) && role.parameter == parameter) return &role;
    }
    return nullptr;
}

HOT void fill_output(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, OutputField* output) {
    const Role* role = role_of_output(entry_point, output->parameter);
    if (!role) {
        const uint8_t bytes = entry_point.parameters[output->parameter].out_bytes;
        const uint64_t address = words[output->parameter];
        if (is_readable(thread, address, bytes)) output->value = load(reinterpret_cast<const char*>(address), bytes);
        return;
    }
    output->value = output_of(*role, words);
    output->kind = static_cast<uint8_t>(role->kind);
    const Object* object = output->value ? find_named(role->kind, output->value) : nullptr;
    if (object) output->generation = generation_of(object->state.load(std::memory_order_relaxed));
}

}  // namespace

uint64_t current_context(Thread* thread) {
    const bool remembers = is_emulated();  // asking it is a round trip
    if (remembers && thread->context_known) return thread->context;
    uint64_t context = 0;
    if (ask_driver(SYMBOL_cuCtxGetCurrent, address_of(context)) != SUCCESS) context = 0;
    thread->context = context;
    thread->context_known = true;
    return context;
}

Call::Call(uint32_t symbol, const uint64_t* words, const Blob* structs)
    : entry_point_(*symbols[symbol].entry_point),
      words_(words),
      structs_(structs),
      thread_(current_thread),
      flags_(symbols[symbol].per_thread ? CALL_PER_THREAD : 0),
      untold_(false) {
    if (__builtin_expect(!thread_, 0)) thread_ = start_thread();
    if (__builtin_expect(thread_->busy, 0)) {
        thread_ = nullptr;
        return;
    }
    const Busy busy(thread_);
    enter();
}

Call::Call(const EntryPoint& entry_point, const uint64_t* words, const Blob* structs, Thread* thread, bool untold,
           const Entry& entry)
    : entry_point_(entry_point), words_(words), structs_(structs), thread_(thread), flags_(0), untold_(untold) {
    if (entry.suspect) flags_ |= CALL_SUSPECT;
    if (entry.sets || (entry_point_.flags & LIFECYCLE && !untold && !entry.untold)) flags_ |= CALL_LIFECYCLE;
    if (entry.overlap.thread) write_overlap(thread_, entry.overlap, thread_->calls + 1);
    enter();
}

void Call::enter() {
    if (entry_point_.flags & LIFECYCLE && !(entry_point_.flags & LIBRARY)) flags_ |= CALL_LIFECYCLE;
    if (is_stored_work(entry_point_)) flags_ |= CALL_WORK;
    entered_ = flags_ & CALL_LIFECYCLE || record_everything || record_accesses ? ticks() : 0;
    number_ = ++thread_->calls;
    thread_->depth++;
    record_ = nullptr;
    again_ = nullptr;
    like_ = nullptr;
    origin_ = nullptr;
    example_ = Examples::NONE;
    endless_ = unknown_handle_ = new_object_ = other_stream_ = dropped_ = awaits_ = false;
    killed_count_ = pointer_count_ = 0;
    slot_status_ = NOT_RETURNED;
    injected_ = ASK;

    if (entry_point_.flags & COPIES_ARGUMENTS) note_arguments();
    slot_ = fill_slot(thread_, entry_point_, words_, entered_, number_);

    look_at_handles();
    if (entry_point_.flags & COPIES_ARGUMENTS && arguments_matter()) look_at_arguments();

    if (entry_point_.flags & COPIES_ARGUMENTS && records_events(launch_config(entry_point_, words_)))
        flags_ |= CALL_ORDER;
    if (entry_point_.flags & ORDER && (record_everything || order_matters())) flags_ |= CALL_ORDER;
    const uint16_t placed = CALL_LIFECYCLE | CALL_SUSPECT | CALL_WORK | (record_accesses ? CALL_ORDER : 0);
    const bool with_stack = flags_ & placed || other_stream_ || injects();
    if (guards_memory) open_guards();
    if (flags_ & CALL_LIFECYCLE) endless_ = explain_crash(thread_, entry_point_, words_, number_);
    if (flags_ & CALL_LIFECYCLE && record_accesses) write_code(thread_, entry_point_, words_, number_);
    if (flags_ & ~CALL_PER_THREAD || record_everything || injects())
        store(with_stack ? take_stack(flags_ & CALL_SUSPECT) : 0);
    if (__builtin_expect(refuses(), 0)) decide();
    for (int i = 0; i < killed_count_; i++) killed_[i].state = kill(killed_[i].object);
    if (narrows && !(refuses() && is_refused()))
        thread_->awaits = awaits_ = is_to_be_awaited(thread_, entry_point_, stream());
    if (!quarantines) return;
    note_hindrance(entry_point_, words_);
    if (entry_point_.flags & CHANGES_CURRENT) context_may_end();
}

void Call::note_arguments() {
    const uint64_t extra = entry_point_.launch_extra == NO_PARAMETER ? 0 : words_[entry_point_.launch_extra];
    note_shape(thread_, number_, launched_shape(entry_point_, words_));
    note_launch(thread_, number_, launched_function(entry_point_, words_), stream(), words_[entry_point_.kernel_params],
                extra);
}

void Call::look_at_handles() {
    for (int i = 0; i < entry_point_.before_count; i++) {
        const Role& role = entry_point_.roles[i];
        if (!is_plain(role)) {
            look_at_all(role);
            continue;
        }
        Object* found = look_at(role, words_[role.parameter]);
        if (i < MOST_FOUND) found_[i] = found;
    }
}

// Apart, so that calls whose handles are arguments do not pay for it.
__attribute__((noinline)) void Call::look_at_all(const Role& role) {
    each_handle(thread_, role, words_, [&](uint64_t handle) { look_at(role, handle); });
}

__attribute__((always_inline)) inline Object* Call::look_at(const Role& role, uint64_t handle) {
    if (role.action == Action::TOUCHES) look_at_memory(handle, false);
    if (role.action == Action::RESETS) kill_primary_context(handle);
    if (role.action == Action::TOUCHES || role.action == Action::RESETS || is_builtin(role.kind, handle))
        return nullptr;
    if (is_null(role.kind, handle)) {
        if (!(role.flags & NULLABLE)) flags_ |= CALL_SUSPECT;
        return nullptr;
    }
    Object* object = find_named(role.kind, handle);
    if (!object || !object->state.load(std::memory_order_relaxed)) {
        if (is_surely_a_handle(role)) {
            unknown_handle_ = true;
            flags_ |= CALL_SUSPECT;
        } else if (record_everything && is_of_library(role.kind)) {
            flags_ |= CALL_SUSPECT;
        }
        return object;
    }
    if (!is_alive(object)) flags_ |= CALL_SUSPECT;
    if (role.action != Action::DESTROYS) return object;
    note_death(object);
    if (role.kind == Kind::MEMORY) memory_has_died();
    const uint64_t bytes = role.kind == Kind::HOST_MEMORY && is_alive(object) ? object->bytes.load() : 0;
    if (bytes) explain_unregistration(thread_, handle, bytes, number_);
    return object;
}

// Only an exact hit on the start of an allocation counts: interior pointers are the model's business.
void Call::look_at_memory(uint64_t address, bool argument) {
    Object* object = address ? find_object(Kind::MEMORY, address) : nullptr;
    if (!object) return;
    const uint64_t state = object->state.load(std::memory_order_acquire);
    if (!is_alive(object)) {
        if (generation_of(state)) flags_ |= CALL_SUSPECT;
    } else if (state & ORDERED && !(entry_point_.flags & LIBRARY)) {
        flags_ |= CALL_STREAM_ORDERED;
        if (object->last_stream.exchange(stream(), std::memory_order_relaxed) != stream()) other_stream_ = true;
    } else {
        return;
    }
    if (argument && pointer_count_ < sizeof pointers_ / sizeof *pointers_) pointers_[pointer_count_++] = address;
}

void Call::look_at_arguments() {
    uint64_t words[MOST_ARGUMENTS];
    const int count = pointer_arguments(thread_, entry_point_, words_, words);
    for (int i = 0; i < count; i++) look_at_memory(words[i], true);
}

__attribute__((noinline)) uint64_t Call::stream() const {
    for (const Role& role : roles_before(entry_point_)) {
        if (role.action != Action::STREAM) continue;
        uint64_t stream = 0;
        each_handle(thread_, role, words_, [&](uint64_t handle) { stream = handle; });
        return stream;
    }
    return flags_ & CALL_PER_THREAD ? PER_THREAD_STREAM : 0;
}

void Call::kill_primary_context(uint64_t device) {
    if (Object* context = primary_context(device)) note_death(context);
}

void Call::remember_primary_context(const Role& retained) {
    const uint64_t device = words_[retained.parameter];
    for (const Role& role : roles_after(entry_point_)) {
        if (role.kind == Kind::CONTEXT) note_primary_context(device, output_of(role, words_));
        if (role.kind != Kind::GREEN_CONTEXT) continue;
        if (Object* green = find_object(role.kind, output_of(role, words_))) green->bytes.store(device);
    }
}

void Call::end_released_context(uint64_t device) {
    Object* context = primary_context(device);
    if (context && !primary_context_is_active(device)) note_end(context, kill(context), false);
}

void Call::note_death(Object* object) {
    if (killed_count_ < MOST_KILLED) killed_[killed_count_++].object = object;
}

// 0 if it is not wanted. `striking`: of a call that fails, names what is not alive, or handed out a new object.
uint32_t Call::take_stack(bool striking) const {
    if (stacks_wanted == Stacks::NONE) return 0;
    if (stacks_wanted == Stacks::CREATED && !striking && !makes_objects(entry_point_)) return 0;
    return capture_stack(thread_);
}

namespace {

const char* arguments_of(const CallRecord* record) { return reinterpret_cast<const char*>(record + 1); }
ObjectField* objects_of(const CallRecord* record) {
    return reinterpret_cast<ObjectField*>(const_cast<char*>(arguments_of(record)) + record->arguments * 8u);
}
OutputField* outputs_of(const CallRecord* record) {
    return reinterpret_cast<OutputField*>(objects_of(record) + record->objects);
}

// Fields::subject, of a record.
int subject_of(const ObjectField* objects, int count) {
    for (int i = 0; i < count; i++)
        if (objects[i].kind != static_cast<uint8_t>(Kind::STREAM)) return i;
    return 0;
}

Subject named_by(const Fields& fields) {
    if (!fields.names_some()) return {};
    return {fields.named().handle, fields.named().generation, true};
}

// Of a call that others may be like; 0: none can. Calls with the same key have all in common that stands in their
// records but numbers, times, arguments and the handle and generation of their subject. That others have it is as
// likely as that a driver hands out this very word.
uint64_t key_of(const Fields& fields, const EntryPoint& entry_point, uint16_t flags, uint32_t stack, uint64_t context) {
    constexpr uint16_t ORDINARY = CALL_LIFECYCLE | CALL_ORDER | CALL_STREAM_ORDERED | CALL_WORK;
    constexpr uint64_t ONE = 0x9E3779B97F4A7C15u, OTHER = 0xC2B2AE3D27D4EB4Fu;
    if (record_accesses && entry_point.flags & COPIES_ARGUMENTS) return 0;  // it has more words
    if (!(flags & ORDINARY) || flags & (CALL_SUSPECT | CALL_FAILED) || fields.output_count > 1) return 0;
    const auto add = [](uint64_t key, uint64_t word) { return (key ^ key >> 32 ^ word) * ONE; };
    uint64_t key = add(uint64_t{entry_point.id} << 48 | uint64_t{flags} << 32 | stack, context * OTHER);
    const uint64_t output = fields.output_count ? fields.outputs[0].parameter : NO_PARAMETER;
    key = add(key, static_cast<uint64_t>(fields.object_count) << 8 | output);
    const int subject = fields.names_some() ? fields.subject : NO_SUBJECT;
    for (int i = 0; i < fields.object_count; i++) {
        const ObjectField& field = fields.objects[i];
        const uint64_t is_like = uint64_t{field.flags} << 16 | uint64_t{field.kind} << 8 | field.parameter;
        key = add(key, field.context * OTHER ^ is_like);
        if (i != subject) key = add(key, field.handle * OTHER ^ field.generation);
    }
    return key | 1;
}

// What the parameters point to would have to be compared, too.
bool captures(const EntryPoint& entry_point) {
    for (int i = 0; i < entry_point.parameter_count; i++)
        if (entry_point.parameters[i].capture != Capture::NONE) return true;
    return false;
}

Origin* find_origin(Repeats* repeats, uint64_t key) {
    for (Origin& origin : repeats->origins[key >> 61])
        if (origin.key == key) return &origin;
    return nullptr;
}

Origin* replace_origin(Repeats* repeats, uint64_t key) {
    if (Origin* origin = find_origin(repeats, key)) return origin;
    uint8_t& oldest = repeats->oldest[key >> 61];
    Origin* origin = &repeats->origins[key >> 61][oldest];
    oldest = static_cast<uint8_t>((oldest + 1) % Repeats::WAYS);
    return origin;
}

// Generations and handles that fit the word of a subject: of the generation the lower bits, of which the origin's has
// the others.
constexpr int HANDLE_BITS = 48;

bool fits(uint64_t handle, uint32_t generation, uint32_t known) {
    const int32_t grown = static_cast<int32_t>(generation - known);
    return handle >> HANDLE_BITS == 0 && grown >= INT16_MIN && grown <= INT16_MAX;
}

uint64_t subject_word(uint64_t handle, uint32_t generation) { return uint64_t{generation} << HANDLE_BITS | handle; }

}  // namespace

void Call::store(uint32_t stack) {
    if (!entered_) entered_ = ticks();
    if (entry_point_.flags & LIBRARY) write_library_names(thread_);
    Fields fields;
    describe(thread_, entry_point_, words_, found_, &fields);
    context_ = current_context(thread_);
    const bool alone = pointer_count_ || injects();  // a fault finds its call by the record
    const uint64_t key = alone ? 0 : key_of(fields, entry_point_, flags_, stack, context_);
    if (!key || !store_again(fields, key)) store_whole(fields, stack, key);
    const bool is_first = !dropped_ && !hot.work_recorded.load(std::memory_order_relaxed);
    if (is_first && enqueues_work(entry_point_)) hot.work_recorded.store(true, std::memory_order_relaxed);
}

namespace {

// Those of a launch that record an event, as an input behind those of its parameters.
void write_attributes(uint8_t parameter, const uint64_t* addresses, uint32_t count, char* at) {
    const InputField field = {parameter, 0, count * ATTRIBUTE_BYTES};
    memcpy(at, &field, sizeof field);
    at += sizeof field;
    for (uint32_t i = 0; i < count; i++)
        memcpy(at + i * ATTRIBUTE_BYTES, reinterpret_cast<const void*>(addresses[i]), ATTRIBUTE_BYTES);
}

}  // namespace

// What a call points to, and is stored with it.
struct Inputs {
    KernelArguments given;
    uint64_t attributes[MOST_ATTRIBUTES];  // addresses of those that record an event
    uint32_t attribute_count;
    uint32_t most_bytes;

    uint32_t attribute_bytes() const {
        return attribute_count ? sizeof(InputField) + attribute_count * ATTRIBUTE_BYTES : 0;
    }
};

namespace {

void find_inputs(Thread* thread, const EntryPoint& entry_point, const uint64_t* words, Inputs* inputs) {
    inputs->given.bytes = inputs->attribute_count = 0;
    if (record_accesses && gives_arguments(entry_point)) find_arguments(thread, entry_point, words, &inputs->given);
    if (entry_point.flags & COPIES_ARGUMENTS)
        inputs->attribute_count = event_attributes(launch_config(entry_point, words), inputs->attributes);
    inputs->most_bytes = most_input_bytes(entry_point, words) + inputs->given.bytes + inputs->attribute_bytes();
}

}  // namespace

void Call::store_whole(const Fields& fields, uint32_t stack, uint64_t key) {
    const uint32_t objects_bytes = static_cast<uint32_t>(fields.object_count) * sizeof(ObjectField);
    const uint32_t outputs_bytes = static_cast<uint32_t>(fields.output_count) * sizeof(OutputField);
    const uint32_t before = sizeof(CallRecord) + (entry_point_.parameter_count + pointer_count_) * 8u + objects_bytes;
    Inputs inputs;
    find_inputs(thread_, entry_point_, words_, &inputs);
    const uint32_t most_bytes = before + outputs_bytes + inputs.most_bytes;
    const bool repeats = inputs.given.bytes && entry_point_.flags & COPIES_ARGUMENTS && !fields.output_count &&
                         !(flags_ & CALL_SUSPECT) && most_bytes <= Examples::MOST_BYTES;
    Examples* examples = repeats ? examples_of(thread_) : nullptr;
    if (examples) return store_launch(fields, stack, inputs, *examples);
    CallRecord* record = static_cast<CallRecord*>(reserve(thread_, most_bytes));
    dropped_ = !record;
    if (dropped_) return;
    const uint32_t bytes = fill(record, fields, stack, inputs);
    publish(thread_, record, bytes, RecordType::CALL, flags_);
    record_ = record;
    begin_record(named_by(fields), fields.makes_one());
    if (!key || captures(entry_point_)) return;
    origin_ = replace_origin(&thread_->repeats, key);
    const Subject named = named_by(fields);
    *origin_ = {key, record, named.handle, named.generation, false, 0, {}};
    if (entry_point_.parameter_count <= Origin::MOST_ARGUMENTS)
        memcpy(origin_->arguments, words_, entry_point_.parameter_count * 8u);
}

// But for its header. Returns how many bytes it has.
uint32_t Call::fill(CallRecord* record, const Fields& fields, uint32_t stack, const Inputs& inputs) const {
    const uint32_t arguments_bytes = entry_point_.parameter_count * 8u;
    const uint32_t objects_bytes = static_cast<uint32_t>(fields.object_count) * sizeof(ObjectField);
    const uint32_t outputs_bytes = static_cast<uint32_t>(fields.output_count) * sizeof(OutputField);
    const uint32_t pointers_bytes = pointer_count_ * 8u;
    record->entry_point = entry_point_.id;
    record->status = NOT_RETURNED;
    record->entered = entered_;
    record->returned = 0;
    record->thread = thread_->id;
    record->stack = stack;
    record->number = number_;
    record->context = context_;
    record->arguments = entry_point_.parameter_count;
    record->objects = static_cast<uint8_t>(fields.object_count);
    record->outputs = static_cast<uint8_t>(fields.output_count);
    record->pointers = pointer_count_;
    char* at = reinterpret_cast<char*>(record + 1);
    memcpy(at, words_, arguments_bytes);
    memcpy(at += arguments_bytes, fields.objects, objects_bytes);
    memcpy(at += objects_bytes, fields.outputs, outputs_bytes);
    memcpy(at += outputs_bytes, pointers_, pointers_bytes);
    record->input_bytes = write_inputs(entry_point_, words_, structs_, at += pointers_bytes);
    if (inputs.given.bytes) write_arguments(thread_, inputs.given, at + record->input_bytes);
    record->input_bytes += inputs.given.bytes;
    if (inputs.attribute_count)
        write_attributes(entry_point_.parameter_count, inputs.attributes, inputs.attribute_count,
                         at + record->input_bytes);
    record->input_bytes += inputs.attribute_bytes();
    at += record->input_bytes;
    return static_cast<uint32_t>(at - reinterpret_cast<const char*>(record));
}

// In full if no launch that it is like is known.
void Call::store_launch(const Fields& fields, uint32_t stack, const Inputs& inputs, Examples& examples) {
    CallRecord* made = examples.made();
    const uint32_t bytes = fill(made, fields, stack, inputs);
    made->size = bytes;
    made->type = static_cast<uint16_t>(RecordType::CALL);
    made->flags = flags_;
    const uint64_t* words = reinterpret_cast<const uint64_t*>(made);
    const uint64_t key =
        ((words[0] ^ words[1] << 32) * 0x9E3779B97F4A7C15u ^ fields.objects[0].handle) * 0xC2B2AE3D27D4EB4Fu;
    const bool is_known = store_like(fields, examples, key);
    if (like_) return;
    CallRecord* record = static_cast<CallRecord*>(reserve(thread_, bytes));
    dropped_ = !record;
    if (dropped_) return;
    memcpy(&record->entry_point, &made->entry_point, bytes - sizeof(RecordHeader));
    const bool is_example = !is_known && !is_inside_another(thread_);  // none is forgotten while a call is like it
    if (is_example) example_ = examples.add(key, thread_->chunk_number, place_of(thread_, record));
    publish(thread_, record, bytes, RecordType::CALL, flags_ | (is_example ? CALL_EXAMPLE : 0));
    record_ = record;
    begin_record(named_by(fields), false);
}

// Whether there is an example of the call. The record may have had no room, or be the first of its chunk.
bool Call::store_like(const Fields& fields, Examples& examples, uint64_t key) {
    Differences differences;
    const Example* example = examples[examples.find(key, &differences)];
    const uint32_t back = example ? thread_->chunk_number - example->chunk : 0;
    if (!example || back > UINT16_MAX) return false;
    const uint64_t calls = number_ - thread_->repeats.number, since = entered_ - thread_->repeats.entered;
    if (calls - 1 > UINT8_MAX - 1 || since > UINT32_MAX) return true;
    const uint32_t before = padded(sizeof(CallLike) + 2 * differences.count);
    const uint32_t bytes = before + 8 * differences.count;
    CallLike* like = static_cast<CallLike*>(reserve_short(thread_, bytes));
    if (!like) return true;
    like->since = static_cast<uint32_t>(since);
    like->took = 0;
    like->back = static_cast<uint16_t>(back);
    like->words = static_cast<uint8_t>(differences.count);
    like->calls = static_cast<uint8_t>(calls);
    uint16_t* positions = reinterpret_cast<uint16_t*>(like + 1);
    uint64_t* words = reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(like) + before);
    for (uint32_t i = 0; i < differences.count; i++) {
        positions[i] = differences.at[i];
        words[i] = reinterpret_cast<const uint64_t*>(examples.made())[differences.at[i]];
    }
    publish(thread_, like, bytes, RecordType::CALL_LIKE, example->place);
    like_ = like;
    whole_ = examples.copy_of(*example);
    output_ = NO_PARAMETER;
    named_ = named_by(fields);
    begin_record(named_, false);
    return true;
}

// The thread's chunk has a record of the call now.
void Call::begin_record(const Subject& named, bool makes) {
    Repeats& repeats = thread_->repeats;
    chunk_ = thread_->chunk;
    repeats.number = number_;
    repeats.entered = entered_;
    named_before_ = repeats.named.count();
    if (makes) made_ = repeats.made.add({});
    if (named.is_known) repeats.named.add(named);
}

// False if no call that this one is like is in the chunk.
bool Call::store_again(const Fields& fields, uint64_t key) {
    Repeats& repeats = thread_->repeats;
    Origin* origin = find_origin(&repeats, key);
    if (!origin || !origin->is_ready) return false;
    const uint64_t calls = number_ - repeats.number, since = entered_ - repeats.entered;
    if (calls - 1 > UINT8_MAX - 1 || since > UINT32_MAX) return false;

    const bool names = fields.names_some(), makes = fields.makes_one();
    const ObjectField& named = fields.named();
    uint32_t back = Newest::MOST;
    if (names) {
        back = repeats.made.find(named.handle, named.generation);
        if (back == Newest::MOST && !fits(named.handle, named.generation, origin->generation)) return false;
    } else if (makes && origin->streak >= Repeats::STREAK) {
        back = 0;
    }
    uint64_t words[1 + AGAIN_ARGUMENTS];
    uint32_t count = 0, given = 0;
    if ((names || makes) && back == Newest::MOST) {
        given = AGAIN_SUBJECT;
        words[count++] = names ? subject_word(named.handle, named.generation) : 0;
        back = 0;
    }
    const bool few = entry_point_.parameter_count <= Origin::MOST_ARGUMENTS;
    const uint64_t* known = few ? origin->arguments : reinterpret_cast<const uint64_t*>(arguments_of(origin->record));
    for (uint32_t i = 0; i < entry_point_.parameter_count; i++) {
        const bool is_subject = names && i == named.parameter && known[i] == origin->handle;
        if (words_[i] == (is_subject ? named.handle : known[i])) continue;
        if (i >= AGAIN_ARGUMENTS) return false;
        given |= 1u << i;
        words[count++] = words_[i];
    }

    const uint32_t bytes = sizeof(CallAgain) + count * 8u;
    CallAgain* again = static_cast<CallAgain*>(reserve_short(thread_, bytes));
    if (!again) return false;
    memcpy(again + 1, words, count * 8u);
    CallAgain said = {};
    said.size = static_cast<uint16_t>(bytes);
    said.given = static_cast<uint8_t>(given);
    said.calls = static_cast<uint8_t>(calls);
    said.origin = static_cast<uint16_t>(place_of(thread_, origin->record) | back << AGAIN_ORIGIN_BITS);
    said.since = static_cast<uint32_t>(since);
    publish_again(thread_, again, said);
    again_ = again;
    whole_ = origin->record;
    origin_ = origin;
    known_generation_ = origin->generation;
    output_ = makes ? fields.outputs[0].parameter : NO_PARAMETER;
    named_ = names ? Subject{named.handle, named.generation, true} : Subject{};
    begin_record(named_, makes);
    return true;
}

uint32_t Call::leave(uint32_t status) {
    if (!thread_ || thread_->busy) return status;  // busy: this is the child of a callback that forked
    {
        const Busy busy(thread_);
        if (__builtin_expect(awaits_, 0)) status = wait_for_work(status);
        finish(status);
    }
    if (--thread_->depth == 0 && thread_->retired_count) release_retired(thread_);
    return status;
}

// What the program is told of a launch whose work lost the context. The emulated device tells it itself.
__attribute__((noinline)) uint32_t Call::wait_for_work(uint32_t status) {
    thread_->awaits = false;
    const bool told = is_emulated() && is_sticky(status);
    if (status != SUCCESS && !told) return status;
    if (!told) status = await_work(thread_, stream());
    if (!is_sticky(status)) {
        if (status == SUCCESS) slot_status_ = AWAITED;
        return SUCCESS;
    }
    slot_status_ = SUCCESS;
    flags_ |= CALL_AWAITED;
    if (record_) record_->flags |= CALL_AWAITED;
    return status;
}

// Nothing is refused in silence: not without a record.
__attribute__((noinline)) void Call::decide() {
    refusal_ = ASK;
    if (!record_) return;
    if (injects() && !is_inside_another(thread_)) inject();
    const bool asks = flags_ & CALL_SUSPECT || endless_;
    if (refusal_ == ASK && protects() && asks) refusal_ = refusal_of(thread_, entry_point_, words_, endless_);
}

void Call::inject() {
    const Injection injection = injection_of(entry_point_, record_->stack);
    if (injection.status == ASK) return;
    injected_ = injection.status;
    flags_ |= CALL_INJECTED;
    record_->flags |= CALL_INJECTED;
    if (!injection.later) refusal_ = injection.status;
    // The emulated device is told what becomes of the context or of the work; else nothing has happened.
    if (injection.later || is_sticky(injection.status)) thread_->fault = {injection.status, injection.later};
}

__attribute__((noinline)) uint32_t Call::refuse() {
    const uint32_t status = refusal_;
    const bool injected = injected_ != ASK;
    if (injected && thread_->fault.status && is_emulated())
        cuvet_emulate(entry_point_, words_, structs_, flags_ & CALL_PER_THREAD, false);
    {
        const Busy busy(thread_);
        if (slot_->number == number_) slot_->status = status;
        for (int i = 0; i < killed_count_; i++) revive(killed_[i].object, killed_[i].state);
        if (!injected) record_->flags = static_cast<uint16_t>(record_->flags | CALL_REFUSED | flag_after_refusal());
        finish_record(status, has_failed(status));
        if (entry_point_.flags & LIBRARY) leave_with_handles(thread_, entry_point_, words_, false, true);
    }
    if (--thread_->depth == 0 && thread_->retired_count) release_retired(thread_);
    if (!injected) end_if_asked();
    return status;
}

__attribute__((noinline)) void Call::note_ends() {
    const bool reset = entry_point_.before_count && entry_point_.roles->action == Action::RESETS;
    for (int i = 0; i < killed_count_; i++) {
        const Object* killed = killed_[i].object;
        const bool green = kind_of(killed_[i].state) == Kind::GREEN_CONTEXT;
        const bool last = green && generation_of(killed_[i].state) && !primary_context_is_active(killed->bytes.load());
        note_end(killed_[i].object, killed_[i].state, reset || last);
    }
}

bool Call::has_failed(uint32_t status) const {
    const bool is_waiting = status == NOT_READY && !(entry_point_.flags & LIBRARY);
    return status != SUCCESS && !is_waiting && !(entry_point_.flags & PROBING);
}

void Call::finish(uint32_t status) {
    if (slot_->number == number_) slot_->status = slot_status_ == NOT_RETURNED ? status : slot_status_;
    if (entry_point_.flags & CHANGES_CURRENT) thread_->context_known = false;
    if (quarantines && entry_point_.flags & CHANGES_CURRENT) context_has_ended();
    if (status == SUCCESS) {
        if (__builtin_expect(protects(), 0)) note_ends();
        if (unknown_handle_) adopt_unknown_handles();
        follow_objects();
        if (entry_point_.flags & BEGINS_CAPTURE) hot.captures.fetch_add(1, std::memory_order_relaxed);
        if (guards_memory) follow_guards();
    } else {
        for (int i = 0; i < killed_count_; i++) revive(killed_[i].object, killed_[i].state);
    }
    if (entry_point_.flags & (LIBRARY | ENDS_CAPTURE)) finish_more(status);
    const bool failed = has_failed(status);
    if (failed && !(entry_point_.flags & LIBRARY)) tell_launches(thread_, status, number_);
    if (quarantines && failed && is_sticky(status)) stop_keeping();
    if (record_)
        finish_record(status, failed);
    else if (again_ || like_)
        finish_again(status, failed);
    else if (!dropped_)
        store_late(status, failed);
    if (failed) explain();
    if (entry_point_.flags & INITIALISES && status == SUCCESS) driver_initialised();
}

// A call that failed. What could not be unregistered may be memory that moved: then its registration is of addresses
// that are not mapped any more.
__attribute__((noinline)) void Call::explain() {
    explain_failure(thread_, entry_point_, words_, number_);
    const Role* first = entry_point_.before_count ? entry_point_.roles : nullptr;
    if (!first || first->action != Action::DESTROYS || first->kind != Kind::HOST_MEMORY) return;
    for (const std::atomic<uint64_t>& registration : registrations) {
        const uint64_t address = registration.load(std::memory_order_relaxed);
        const bool is_other = address && address != words_[first->parameter];
        const Object* object = is_other ? find_object(Kind::HOST_MEMORY, address) : nullptr;
        const uint64_t bytes = object && is_alive(object) ? object->bytes.load() : 0;
        if (bytes && explain_unregistration(thread_, address, bytes, number_)) return;
    }
}

__attribute__((noinline)) void Call::finish_more(uint32_t status) {
    if (entry_point_.flags & LIBRARY)
        leave_with_handles(thread_, entry_point_, words_, status == SUCCESS, flags_ & ~CALL_PER_THREAD);
    if (entry_point_.flags & ENDS_CAPTURE && hot.captures.load(std::memory_order_relaxed) > 0)
        hot.captures.fetch_sub(1, std::memory_order_relaxed);
}

void Call::adopt_unknown_handles() {
    for (const Role& role : roles_before(entry_point_)) {
        if (role.action == Action::DESTROYS || !is_surely_a_handle(role)) continue;
        each_handle(thread_, role, words_, [&](uint64_t handle) {
            if (!handle || is_builtin(role.kind, handle)) return;
            Object* object = find_named(role.kind, handle);
            if (!object) object = add_object(role.kind, handle);
            if (!object) return;
            adopt(object, role.kind);
            note_unseen(role.kind);
        });
    }
}

void Call::follow_objects() {
    for (const Role& role : roles_after(entry_point_)) {
        if (gives_array(role))
            begin_lives(role);
        else if (gives_object(role))
            begin_life(role, output_of(role, words_));
        if (role.action == Action::RETAINS) remember_primary_context(role);
        if (role.action == Action::RELEASES) end_released_context(words_[role.parameter]);
    }
}

// Of the array that the call has written.
void Call::begin_lives(const Role& role) {
    if (!words_[role.parameter] || !words_[role.count]) return;
    const auto written = [&](int parameter, uint32_t bytes) {
        return load(reinterpret_cast<const char*>(words_[parameter]), bytes);
    };
    if (role.when != NO_PARAMETER && (!words_[role.when] || written(role.when, 4) != role.value)) return;
    const bool is_pointed_to = entry_point_.parameters[role.parameter].out_bytes;
    const uint64_t address = is_pointed_to ? written(role.parameter, 8) : words_[role.parameter];
    const uint64_t told = entry_point_.parameters[role.count].out_bytes ? written(role.count, 8) : words_[role.count];
    const uint64_t count = told < MOST_HANDED_OUT ? told : MOST_HANDED_OUT;
    if (!count || !is_readable(thread_, address, count * 8)) return;
    const char* handles = reinterpret_cast<const char*>(address);
    OutputField fields[64];
    uint32_t born = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t handle = load(handles + 8 * i, 8);
        if (begin_life(role, handle)) {
            const uint64_t state = find_object(role.kind, handle)->state.load(std::memory_order_relaxed);
            fields[born++] = {role.parameter, static_cast<uint8_t>(role.kind), 0, generation_of(state), handle};
        }
        if (born == sizeof fields / sizeof *fields || (born && i + 1 == count)) {
            write_handed_out(thread_, fields, born, number_);
            born = 0;
        }
    }
}

// The driver and its device may touch what the call names. What it ends is guarded no more, whether it fails or not.
__attribute__((noinline)) void Call::open_guards() {
    open_named(thread_, entry_point_, words_);
    for (const Role& role : roles_before(entry_point_)) {
        if (role.action == Action::DESTROYS && is_memory(role.kind)) unshare_memory(words_[role.parameter]);
        if (role.action == Action::DESTROYS && role.kind == Kind::STREAM) forget_stream(words_[role.parameter]);
        const bool ends_all = role.action == Action::RESETS;
        if (ends_all || (role.action == Action::DESTROYS && role.kind == Kind::CONTEXT)) unshare_all();
    }
    for (const Role& role : roles_after(entry_point_))
        if (role.action == Action::RELEASES) unshare_all();
}

// The call succeeded: what it enqueued uses memory, or what it waited for does not any more.
__attribute__((noinline)) void Call::follow_guards() {
    const bool waits = entry_point_.flags & HOST_WAITS;
    const uint64_t own = flags_ & CALL_PER_THREAD ? PER_THREAD_STREAM : 0;
    bool names_stream = false;
    for (const Role& role : roles_before(entry_point_)) {
        const uint64_t handle = words_[role.parameter];
        names_stream |= role.kind == Kind::STREAM;
        if (role.action == Action::RECORDS) note_record(handle, stream());
        if (role.kind == Kind::STREAM && waits) open_stream(handle ? handle : own);
        if (role.kind == Kind::EVENT && waits) open_event(handle);
        if (role.kind == Kind::EVENT && role.action == Action::USES && !waits) note_join();
        if (role.kind == Kind::CONTEXT && waits) open_all();
    }
    if (waits && !entry_point_.before_count) open_all();
    if (entry_point_.flags & ORDER && !waits && !names_stream) open_stream(own);  // a copy that may have waited
    if (enqueues_work(entry_point_)) close_named(thread_, entry_point_, words_, stream());
}

// False if the object is known, or is none.
bool Call::begin_life(const Role& role, uint64_t handle) {
    const bool is_object = !is_null(role.kind, handle) && !is_builtin(role.kind, handle);
    Object* object = is_object ? add_object(role.kind, handle) : nullptr;
    if (!object) return false;
    const uint64_t seen = object->state.load(std::memory_order_relaxed);
    // The graph of a capture that ends may be there already.
    const bool may_be_known = role.action == Action::RETURNS || entry_point_.flags & ENDS_CAPTURE;
    if (may_be_known && (is_alive(object) || is_known_context(object, role, entry_point_))) return false;
    const bool of_library = is_of_library(role.kind);
    const bool stored = record_ || again_ || like_, untold = untold_ && !stored;
    uint64_t context = 0;
    if (role.kind != Kind::CONTEXT)  // a library may have made the one that its object belongs to
        context = stored && !of_library ? context_ : current_context(thread_);
    const bool ordered = role.flags & STREAM_ORDERED;
    if (ordered && !arguments_matter()) {
        hot.stream_ordered_memory_exists.store(true, std::memory_order_relaxed);
        note_change();  // a launch is quiet no more
    }
    give_birth(object, seen, role.kind, parent_of(entry_point_, role, words_, context), context,
               (ordered ? ORDERED : 0) | (untold ? UNTOLD : 0));
    if (quarantines) note_made(object, entry_point_, role.kind, words_);
    if (of_library) forget_settings(object);
    if (role.action == Action::REGISTERS) {
        object->bytes.store(registered_bytes(entry_point_, words_));
        if (role.kind == Kind::HOST_MEMORY) remember_registration(handle);
    }
    if (ordered) object->last_stream.store(stream(), std::memory_order_relaxed);
    if (guards_memory && is_memory(role.kind)) share_new(role, handle);
    new_object_ = !untold;
    return true;
}

void Call::share_new(const Role& made, uint64_t address) {
    constexpr uint64_t READ_ONLY = 8;  // flag of cuMemHostRegister: the pages may not be writable
    if (made.action == Action::REGISTERS && words_[2] & READ_ONLY) return;
    for (const Role& role : roles_after(entry_point_)) {
        const bool is_mapped = made.kind == Kind::MEMORY && made.action == Action::REGISTERS;
        if (role.action != Action::REGISTERED_BYTES || role.kind != made.kind || is_mapped) continue;
        const uint64_t bytes = words_[role.parameter];
        share_memory(address, made.action == Action::CREATES ? whole_pages(bytes) : bytes);
    }
}

void Call::finish_record(uint32_t status, bool failed) {
    if (failed || new_object_) {
        if (!record_->stack) record_->stack = take_stack(true);
        record_->flags |= failed ? CALL_FAILED : CALL_LIFECYCLE;
    }
    OutputField* outputs = outputs_of(record_);
    if (status == SUCCESS) {
        if (entry_point_.flags & ORDER_ON_SUCCESS) record_->flags |= CALL_ORDER;
        for (int i = 0; i < record_->outputs; i++) fill_output(thread_, entry_point_, words_, &outputs[i]);
    }
    record_->returned = ticks();
    __atomic_store_n(&record_->status, status, __ATOMIC_RELEASE);
    if (example_ && status == SUCCESS && record_->flags == (flags_ | CALL_EXAMPLE))
        thread_->examples->set_ready(example_);
    if (chunk_ != thread_->chunk) return;
    if (record_->outputs == 1 && status == SUCCESS)
        thread_->repeats.made.fill(made_, {outputs->value, outputs->generation, outputs->kind != 0});
    const bool is_origin = status == SUCCESS && origin_ && origin_->record == record_ && record_->flags == flags_;
    if (!is_origin || (record_->outputs && !outputs->kind)) return;
    if (record_->outputs) origin_->generation = outputs->generation;
    origin_->is_ready = true;
}

// What stands in the short record says all, or the call is told in full.
void Call::finish_again(uint32_t status, bool failed) {
    const bool has_changed = (new_object_ && !(flags_ & CALL_LIFECYCLE)) ||
                             (entry_point_.flags & ORDER_ON_SUCCESS && !(flags_ & CALL_ORDER));
    const bool makes = output_ != NO_PARAMETER;
    OutputField made = {output_, 0, 0, 0, 0};
    if (makes && status == SUCCESS) fill_output(thread_, entry_point_, words_, &made);
    if (status == SUCCESS && !has_changed && (!makes || tell_made(made))) {
        const uint32_t took = pack_took(ticks() - entered_);
        __atomic_store_n(like_ ? &like_->took : &again_->took, took, __ATOMIC_RELEASE);
        return;
    }
    if (tell_in_full()) finish_record(status, failed);
}

// Of the object that was made: where its handle was named before, or what it is. False if the record cannot say it.
bool Call::tell_made(const OutputField& made) {
    Repeats& repeats = thread_->repeats;
    if (chunk_ != thread_->chunk) return false;
    const uint32_t meanwhile = repeats.named.count() - named_before_;  // named within the call
    uint32_t back = repeats.named.find(made.value, made.generation - 1);
    if (back < Newest::MOST) back = back < meanwhile ? Newest::MOST : back - meanwhile;
    const uint8_t streak = origin_->streak;
    origin_->streak = back == Newest::MOST ? 0 : static_cast<uint8_t>(streak + (streak < Repeats::STREAK));
    if (again_->given & AGAIN_SUBJECT) {
        if (!fits(made.value, made.generation, known_generation_)) return false;
        const uint64_t word = subject_word(made.value, made.generation);
        memcpy(again_ + 1, &word, sizeof word);
    } else {
        if (back == Newest::MOST) return false;
        again_->origin =
            static_cast<uint16_t>((again_->origin & ((1u << AGAIN_ORIGIN_BITS) - 1)) | back << AGAIN_ORIGIN_BITS);
    }
    repeats.made.fill(made_, {made.value, made.generation, true});
    return true;
}

namespace {

void put_differences(const CallLike* like, CallRecord* record) {
    const uint16_t* positions = reinterpret_cast<const uint16_t*>(like + 1);
    const uint32_t before = padded(sizeof(CallLike) + 2u * like->words);
    const uint64_t* words = reinterpret_cast<const uint64_t*>(reinterpret_cast<const char*>(like) + before);
    for (uint32_t i = 0; i < like->words; i++) reinterpret_cast<uint64_t*>(record)[positions[i]] = words[i];
}

}  // namespace

// As if it had been from the start. False if there is no room.
__attribute__((noinline)) bool Call::tell_in_full() {
    CallRecord* record = static_cast<CallRecord*>(reserve(thread_, whole_->size));
    if (record) {
        memcpy(&record->entry_point, &whole_->entry_point, whole_->size - sizeof(RecordHeader));
        if (like_) put_differences(like_, record);
        record->status = NOT_RETURNED;
        record->entered = entered_;
        record->returned = 0;
        record->number = number_;
        memcpy(record + 1, words_, record->arguments * 8u);
        if (named_.is_known) {
            ObjectField& named = objects_of(record)[subject_of(objects_of(record), record->objects)];
            named.handle = named_.handle;
            named.generation = named_.generation;
        }
        if (record->outputs) *outputs_of(record) = {outputs_of(record)->parameter, 0, 0, 0, 0};
        publish(thread_, record, whole_->size, RecordType::CALL, flags_);
        begin_record(named_, record->outputs == 1);
    }
    __atomic_store_n(like_ ? &like_->took : &again_->took, AGAIN_TOLD, __ATOMIC_RELEASE);
    record_ = record;
    again_ = nullptr;
    like_ = nullptr;
    origin_ = nullptr;
    return record;
}

// A call that nobody needed to store when it was made, and that turned out to matter.
void Call::store_late(uint32_t status, bool failed) {
    if (failed) flags_ |= CALL_FAILED;
    if (new_object_) flags_ |= CALL_LIFECYCLE;
    if (entry_point_.flags & ORDER_ON_SUCCESS && status == SUCCESS && order_matters()) flags_ |= CALL_ORDER;
    if (!(flags_ & ~CALL_PER_THREAD)) return;
    const bool with_stack = flags_ & (CALL_FAILED | CALL_LIFECYCLE);
    store(with_stack ? take_stack(true) : 0);
    if (record_)
        finish_record(status, false);
    else if (again_ || like_)
        finish_again(status, false);
}

}  // namespace cuvet
