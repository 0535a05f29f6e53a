#include "cfi.h"

#include <string.h>

namespace cuvet {

namespace {

// DWARF's numbers of registers on x86-64.
constexpr uint64_t FRAME_POINTER = 6, STACK_POINTER = 7, RETURN_ADDRESS = 16;
constexpr int MOST_SAVED_ROWS = 8;
constexpr uint64_t UNIT = 8;

enum class How : uint8_t { SAME, AT_CFA, AT_FRAME, UNDEFINED, OTHER };

struct Location {
    How how;
    int64_t offset;
};

struct Row {
    Cfa cfa;  // OUTERMOST and NONE do not occur
    int64_t cfa_offset;
    Location frame_pointer, stack_pointer, return_address;
};

// Reads what the compiler wrote; past the end it reads zeros.
class Bytes {
  public:
    Bytes(const uint8_t* at, const uint8_t* end) : at_(at), end_(end) {}

    bool more() const { return at_ < end_; }
    const uint8_t* at() const { return at_; }
    void skip(uint64_t bytes) { at_ += bytes < left() ? bytes : left(); }
    template <class T>
    T take() {
        T value = 0;
        if (left() >= sizeof value) memcpy(&value, at_, sizeof value);
        skip(sizeof value);
        return value;
    }
    uint64_t unsigned_leb() {
        uint64_t value = 0;
        for (unsigned shift = 0; more(); shift += 7) {
            const uint8_t byte = take<uint8_t>();
            if (shift < 64) value |= uint64_t{byte & 0x7Fu} << shift;
            if (!(byte & 0x80)) break;
        }
        return value;
    }
    int64_t signed_leb() {
        uint64_t value = 0;
        unsigned shift = 0;
        uint8_t byte = 0;
        do {
            byte = take<uint8_t>();
            if (shift < 64) value |= uint64_t{byte & 0x7Fu} << shift;
            shift += 7;
        } while (byte & 0x80 && more());
        if (shift < 64 && byte & 0x40) value |= ~uint64_t{0} << shift;
        return static_cast<int64_t>(value);
    }
    // That it begins with its length.
    Bytes block() {
        const uint64_t length = unsigned_leb();
        const uint8_t* start = at_;
        skip(length);
        return {start, at_};
    }

  private:
    uint64_t left() const { return static_cast<uint64_t>(end_ - at_); }

    const uint8_t* at_;
    const uint8_t* end_;
};

// An entry of .eh_frame: what follows its length.
bool open_entry(const uint8_t* entry, Bytes* bytes) {
    uint32_t length;
    memcpy(&length, entry, sizeof length);
    *bytes = {entry + sizeof length, entry + sizeof length + length};
    return length && length != 0xFFFFFFFF;
}

// Bytes of a pointer in an encoding (DW_EH_PE); 0: not known.
uint64_t pointer_bytes(uint8_t encoding) {
    switch (encoding & 7) {
        case 0:
        case 4:
            return 8;
        case 2:
            return 2;
        case 3:
            return 4;
        default:
            return 0;
    }
}

class Interpreter {
  public:
    // False if it is of a kind that is not known.
    bool read_common(const uint8_t* entry) {
        Bytes common(nullptr, nullptr);
        if (!open_entry(entry, &common) || common.take<uint32_t>() != 0) return false;
        const uint8_t version = common.take<uint8_t>();
        if (version != 1 && version != 3) return false;
        const char* augmentation = reinterpret_cast<const char*>(common.at());
        while (common.take<char>()) {
        }
        code_unit_ = common.unsigned_leb();
        data_unit_ = common.signed_leb();
        const uint64_t column = version == 1 ? common.take<uint8_t>() : common.unsigned_leb();
        if (column != RETURN_ADDRESS || !read_augmentation(augmentation, &common)) return false;
        run(common, ~uint64_t{0});
        initial_ = row_;
        return !failed_;
    }

    Rule rule(const uint8_t* entry, uint64_t function, uint64_t address) {
        Bytes description(nullptr, nullptr);
        if (!open_entry(entry, &description)) return complex();
        description.skip(sizeof(uint32_t) + 2 * pointer_bytes(encoding_));
        if (augmented_) description.block();
        location_ = function;
        run(description, address);
        return failed_ ? complex() : simplified();
    }

  private:
    static Rule complex() { return {Cfa::COMPLEX, Saved::NOT, 0, 0}; }

    bool read_augmentation(const char* letters, Bytes* common) {
        augmented_ = *letters == 'z';
        if (!augmented_) return !*letters;
        Bytes data = common->block();
        while (*++letters) {
            if (*letters == 'R') {
                encoding_ = data.take<uint8_t>();
            } else if (*letters == 'L') {
                data.take<uint8_t>();
            } else if (*letters == 'P') {
                const uint64_t bytes = pointer_bytes(data.take<uint8_t>());
                if (!bytes) return false;
                data.skip(bytes);
            } else {
                return false;  // S: of a signal's frame
            }
        }
        return pointer_bytes(encoding_) != 0;
    }

    Location* location_of(uint64_t column) { return location_in(&row_, column); }

    static Location* location_in(Row* row, uint64_t column) {
        if (column == FRAME_POINTER) return &row->frame_pointer;
        if (column == STACK_POINTER) return &row->stack_pointer;
        return column == RETURN_ADDRESS ? &row->return_address : nullptr;
    }

    void set(uint64_t column, How how, int64_t offset = 0) {
        if (Location* location = location_of(column)) *location = {how, offset};
    }

    void restore(uint64_t column) {
        if (Location* location = location_of(column)) *location = *location_in(&initial_, column);
    }

    void set_cfa(uint64_t column, int64_t offset) {
        row_.cfa = column == STACK_POINTER ? Cfa::STACK : column == FRAME_POINTER ? Cfa::FRAME : Cfa::COMPLEX;
        row_.cfa_offset = offset;
    }

    // Those that compilers write where they align the stack: what stands at an offset from the frame pointer, and the
    // place itself.
    void set_cfa_expression(Bytes expression) {
        const bool at_frame = expression.take<uint8_t>() == BREG0 + FRAME_POINTER;
        const int64_t offset = expression.signed_leb();
        const bool simple = at_frame && expression.take<uint8_t>() == DEREF && !expression.more();
        row_.cfa = simple ? Cfa::AT_FRAME : Cfa::COMPLEX;
        row_.cfa_offset = offset;
    }

    void set_expression(uint64_t column, Bytes expression) {
        const bool at_frame = expression.take<uint8_t>() == BREG0 + FRAME_POINTER;
        const int64_t offset = expression.signed_leb();
        set(column, at_frame && !expression.more() ? How::AT_FRAME : How::OTHER, offset);
    }

    void remember() {
        if (remembered_ == MOST_SAVED_ROWS)
            failed_ = true;
        else
            rows_[remembered_++] = row_;
    }

    void go_back() {
        if (remembered_ == 0)
            failed_ = true;
        else
            row_ = rows_[--remembered_];
    }

    // Until the row that holds for the instruction before `address`.
    void run(Bytes program, uint64_t address) {
        while (program.more() && !failed_ && location_ < address) step(&program);
    }

    void step(Bytes* program) {
        const uint8_t operation = program->take<uint8_t>(), low = operation & 0x3F;
        if (operation >> 6 == 1)
            location_ += low * code_unit_;
        else if (operation >> 6 == 2)
            set(low, How::AT_CFA, static_cast<int64_t>(program->unsigned_leb()) * data_unit_);
        else if (operation >> 6 == 3)
            restore(low);
        else
            extended_step(operation, program);
    }

    void extended_step(uint8_t operation, Bytes* program) {
        const auto number = [&] { return program->unsigned_leb(); };
        const auto offset = [&] { return static_cast<int64_t>(program->unsigned_leb()); };
        uint64_t column;
        switch (operation) {
            case 0x00:  // nop
                return;
            case 0x02:  // advance_loc1, 2, 4
                location_ += program->take<uint8_t>() * code_unit_;
                return;
            case 0x03:
                location_ += program->take<uint16_t>() * code_unit_;
                return;
            case 0x04:
                location_ += program->take<uint32_t>() * code_unit_;
                return;
            case 0x05:  // offset_extended
                column = number();
                return set(column, How::AT_CFA, offset() * data_unit_);
            case 0x06:  // restore_extended
                return restore(number());
            case 0x07:  // undefined
                return set(number(), How::UNDEFINED);
            case 0x08:  // same_value
                return set(number(), How::SAME);
            case 0x09:  // register
                column = number();
                number();
                return set(column, How::OTHER);
            case 0x0A:  // remember_state
                return remember();
            case 0x0B:  // restore_state
                return go_back();
            case 0x0C:  // def_cfa
                column = number();
                return set_cfa(column, offset());
            case 0x0D:  // def_cfa_register
                return set_cfa(number(), row_.cfa_offset);
            case 0x0E:  // def_cfa_offset
                row_.cfa_offset = offset();
                return;
            case 0x0F:  // def_cfa_expression
                return set_cfa_expression(program->block());
            case 0x10:  // expression
                column = number();
                return set_expression(column, program->block());
            case 0x11:  // offset_extended_sf
                column = number();
                return set(column, How::AT_CFA, program->signed_leb() * data_unit_);
            case 0x12:  // def_cfa_sf
                column = number();
                return set_cfa(column, program->signed_leb() * data_unit_);
            case 0x13:  // def_cfa_offset_sf
                row_.cfa_offset = program->signed_leb() * data_unit_;
                return;
            case 0x14:  // val_offset, val_offset_sf
            case 0x15:
                column = number();
                number();
                return set(column, How::OTHER);
            case 0x16:  // val_expression
                column = number();
                program->block();
                return set(column, How::OTHER);
            case 0x2E:  // GNU_args_size
                number();
                return;
            default:  // set_loc, and what is not known
                failed_ = true;
        }
    }

    static bool fits(int64_t offset, int64_t most) {
        const int64_t units = offset / static_cast<int64_t>(UNIT);
        return offset % static_cast<int64_t>(UNIT) == 0 && units < most && units >= -most;
    }

    Rule simplified() const {
        if (row_.return_address.how == How::UNDEFINED) return {Cfa::OUTERMOST, Saved::NOT, 0, 0};
        const Location& saved = row_.frame_pointer;
        const bool simple = row_.cfa != Cfa::COMPLEX && row_.cfa != Cfa::UNKNOWN &&
                            row_.stack_pointer.how == How::SAME && saved.how != How::OTHER &&
                            row_.return_address.how == How::AT_CFA &&
                            row_.return_address.offset == -static_cast<int64_t>(UNIT);
        if (!simple || !fits(row_.cfa_offset, MOST_OFFSET) || !fits(saved.offset, MOST_FRAME_OFFSET)) return complex();
        const Saved where = saved.how == How::AT_CFA     ? Saved::AT_CFA
                            : saved.how == How::AT_FRAME ? Saved::AT_FRAME
                                                         : Saved::NOT;
        constexpr int64_t UNITS = UNIT;
        return {row_.cfa, where, static_cast<int32_t>(row_.cfa_offset / UNITS),
                static_cast<int32_t>(saved.offset / UNITS)};
    }

    static constexpr uint8_t BREG0 = 0x70, DEREF = 0x06;

    Row row_ = {};
    Row initial_ = {};
    Row rows_[MOST_SAVED_ROWS];
    int remembered_ = 0;
    uint64_t location_ = 0;
    uint64_t code_unit_ = 1;
    int64_t data_unit_ = 1;
    uint8_t encoding_ = 0;
    bool augmented_ = false;
    bool failed_ = false;
};

}  // namespace

Rule rule_of(const void* description, uint64_t function, uint64_t address) {
    const uint8_t* entry = static_cast<const uint8_t*>(description);
    int32_t back;  // from this field to the common part (CIE)
    memcpy(&back, entry + sizeof(uint32_t), sizeof back);
    Interpreter interpreter;
    if (!interpreter.read_common(entry + sizeof(uint32_t) - back)) return {Cfa::COMPLEX, Saved::NOT, 0, 0};
    return interpreter.rule(entry, function, address);
}

}  // namespace cuvet
