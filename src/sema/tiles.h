// Tiles while a function is lowered (docs/design/tiles.md). A tile becomes memory of the block and loops over its elements; a
// name keeps its memory, so that in-place operations, branches and loops need no merging; windows are places in the memory of
// others. The methods are spread over files by subject (tiles_*.cpp).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sema/lowering.h"
#include "types/tile_type.h"

namespace weft::sema {

class Tiles {
 public:
  Tiles(FunctionLowering& lowering, const syntax::Node& at);

  /// Names of builtins that are lowered here.
  static bool is_form(std::string_view name);
  Entity call(std::string_view name, std::vector<Argument> args);

  /// An operator of which at least one operand is a tile.
  Entity binary(std::string_view name, const Entity& a, const Entity& b);
  Entity unary(std::string_view name, const Entity& a);
  /// `tile += value` and its like.
  bool update(std::string_view name, const Entity& tile, const Entity& value);

  /// `tile[i] += value` of structs; false if the operator is another one.
  bool update_element(std::string_view name, const Place& place, ir::Value* value);

  /// The tile in memory of its own.
  Entity copied(const Entity& tile) { return fresh(copy_of(window(tile.value))); }
  /// Whether a value is all of a tile that wp.tile made, or one like it, of a block that may lack threads; and a tile of
  /// another function that is known to be one.
  bool is_by_thread(ir::Value* value) {
    return may_lack_threads() && tile_type(value->type) && window(value).by_thread;
  }
  Entity known_by_thread(ir::Value* tile);
  /// What a variable holds after a tile was assigned to it.
  Entity held(int variable, Entity value);
  /// A tile of zeros for the paths that assign nothing to a variable.
  ir::Value* unassigned(const Type* type);
  /// t[i, j], t[i], t[1:3].
  Place place(ir::Value* tile, const syntax::SubscriptExpr& expr);
  /// wp.where with a tile.
  Entity choose(const Entity& condition, const Entity& yes, const Entity& no);
  Entity print(const Entity& tile);
  /// window = value.
  bool assign(ir::Value* window, const Entity& value);
  /// shape, dtype, ndim, size; nothing if it has no such attribute.
  std::optional<Entity> attribute(const Type* type, std::string_view name);
  /// Says that an element of a broadcast can't be written to.
  void refuse_write() { fail(DiagCode::bad_assignment, at_, "a broadcast of a tile can't be written to"); }

 private:
  using Coords = std::span<ir::Value* const>;
  using Shape = std::vector<std::int64_t>;
  /// A tile as code works with it.
  struct Window {
    const TileType* type = nullptr;
    ir::Value* data = nullptr;
    ir::Value* offset = nullptr;
    bool by_thread =
        false;  // all of what wp.tile made: last of its dimensions are threads, some of which a block may lack
    explicit operator bool() const { return type != nullptr; }
  };
  /// Arguments by parameter; null where one was left out.
  using Bound = std::vector<const Argument*>;

  // memory and loops (tiles_core.cpp)
  Window window(ir::Value* tile);
  ir::Value* value(const Window& w);
  Entity entity(const Window& w, Entity::Hold hold);
  Entity fresh(const Window& w) { return entity(w, Entity::Hold::fresh); }
  Window make(const Type* element, const Shape& shape);
  /// The tile with the wish that its builtin was called with.
  Entity stored(const Window& w, const Argument* storage);
  Window view(const Window& w, const Shape& shape, const Shape& strides, ir::Value* offset);
  Window flat(const Window& w);
  Window packed(const Window& w);
  /// Memory for what is like a window.
  Window make_like(const Window& w);
  Window copy_of(const Window& w);
  /// Copies a tile to the memory of a variable that it is assigned to.
  void give(int variable, const Entity& value, const Window& to);
  ir::Value* i32(std::int64_t n) { return b_.i32(n); }
  ir::Value* plus(ir::Value* a, ir::Value* b);
  ir::Value* times(ir::Value* a, std::int64_t n);
  ir::Value* index(const Window& w, Coords at);
  /// Notes where a window begins that a turn of a shared loop touches.
  void note_start(const Window& w);
  ir::Value* get(const Window& w, Coords at);
  void put(const Window& w, Coords at, ir::Value* value);
  void loop(std::int64_t n, const std::function<void(ir::Value*)>& body);
  void plain_loop(std::int64_t n, const std::function<void(ir::Value*)>& body);
  void each(const Shape& shape, const std::function<void(Coords)>& body);
  void copy(const Window& from, const Window& to);
  /// Memory that a turn of a loop under way makes.
  bool made_in_loop(const ir::Value* memory) const;
  /// Both may be the same memory seen differently.
  bool may_overlap(const Window& a, const Window& b) const;
  /// In debug mode: reports an index or offset that is outside.
  void watch(ir::Value* inside, ir::Value* index, ir::Value* extent, const std::string& what);
  /// Runs `make` where a place before the loops under way is, so that what it makes outlives a turn.
  Window make_before(const ir::Op* loops, ir::Region* region, const Type* element, const Shape& shape);

  // threads of a block (tiles_block.cpp)
  /// Whether work is shared by several threads here.
  bool cooperates() const { return threads_ > 1 && !sharing_; }
  /// Says that all threads come here.
  ir::Op* meet();
  /// Says that all threads come here with the same number; `what` it is, for errors.
  void agree(ir::Value* number, std::string_view what);
  static constexpr std::string_view kWindowStart = "where a window begins";
  /// The thread's number in its block, and how many there are.
  ir::Value* thread();
  ir::Value* thread_count();
  /// Turns that the threads share: thread t takes t, t + threads, …
  void share(std::int64_t n, const std::function<void(ir::Value*)>& body);
  /// The thread's place in a tile that has one for each.
  ir::Value* own_place() { return threads_ > 1 ? thread() : i32(0); }
  /// Zeros for threads that a block at the end of the grid lacks, and a note that reductions leave them out.
  void fill_missing(const Window& made);
  bool may_lack_threads() const;
  void note_by_thread(const Window& made);
  /// Whether a place of a tile that has one for each thread is that of a thread that is there.
  ir::Value* is_there(ir::Value* place);
  /// The last one of a type in an order.
  ir::Value* least_or_most(const Type* type, bool most);
  /// What one thread has; null after an error.
  ir::Value* from_thread(ir::Value* value, const Argument& which);
  /// What one thread does for all.
  void once(const std::function<void()>& body);
  /// Each thread's own number of a tile's places, as coordinates.
  std::vector<ir::Value*> coordinates(const Shape& shape, ir::Value* i);
  /// A copy of a square tile whose rows are an element longer: threads that each have a row then don't meet in a bank.
  Window with_long_rows(const Window& w);
  /// Running sums, minima or maxima of a packed window, in the order of docs/design/tiles.md.
  static constexpr std::int64_t kScanGroup = 32;
  Window scan_shared(Window from, ir::OpCode code);
  /// The index of the least or greatest element, by a tree over indices; `memory` is packed.
  ir::Value* extreme_place(const Window& memory, bool most);

  // arguments (tiles_core.cpp)
  std::optional<Bound> bind(std::string_view form, std::span<const std::string_view> params, std::size_t needed,
                            const std::vector<Argument>& args);
  const syntax::Node& node(const Argument& arg) const;
  Window tile_argument(std::string_view form, std::string_view param, const Argument& arg);
  /// The same for what threads work on together other than element by element.
  Window whole_argument(std::string_view form, std::string_view param, const Argument& arg);
  std::optional<Shape> shape_argument(const Argument& arg, const Type* element);
  bool check_shape(const Shape& shape, const Type* element, const syntax::Node& at);
  const Type* dtype_argument(const Argument* arg, const Type* otherwise);
  bool check_storage(const Argument* arg);
  std::optional<std::string> word_argument(const Argument* arg, std::string_view param, std::string_view otherwise,
                                           std::initializer_list<std::string_view> words);
  std::optional<bool> flag_argument(const Argument* arg, std::string_view param, bool otherwise);
  std::optional<std::vector<ir::Value*>> offsets_argument(const Argument* arg, std::size_t rank, std::string_view what);
  std::optional<std::int64_t> axis_argument(const Argument& arg, std::size_t rank);
  Entity fail(DiagCode code, const syntax::Node& at, std::string text, std::string cure = {}) {
    return f_.fail(code, at, std::move(text), std::move(cure));
  }
  bool same_shape(std::string_view form, const Window& a, const Window& b, const syntax::Node& at);

  // making, loading, storing (tiles_memory.cpp)
  Entity form_fill(std::string_view name, const std::vector<Argument>& args);
  Entity form_arange(const std::vector<Argument>& args);
  Entity form_tile(const std::vector<Argument>& args);
  Entity form_untile(const std::vector<Argument>& args);
  Entity form_load(const std::vector<Argument>& args);
  Entity form_store(std::string_view name, const std::vector<Argument>& args);
  Entity form_indexed(std::string_view name, const std::vector<Argument>& args);
  struct Outer {
    ir::Value* array = nullptr;
    std::vector<ir::Value*> offset;
    Shape shape;
  };
  ir::Value* array_argument(std::string_view form, const Argument& arg);
  /// An element of an array, or of what an indexedarray stands for.
  struct Element {
    ir::Value* array = nullptr;
    std::vector<ir::Value*> indices;
    std::uint8_t wrap = 0;
  };
  Element element_at(ir::Value* array, Coords indices);
  /// Adds to an element, or takes from it, whose type may be a struct; several threads' additions are all counted.
  void add_to_element(const Place& place, ir::Value* value, bool minus);
  /// Adds to an element atomically, to structs field by field; gives what was there.
  ir::Value* atomic_add(const Element& to, ir::Value* value, std::vector<ir::PathStep> path = {});
  ir::Value* extent(ir::Value* array, std::size_t d, const Type* type);
  /// In debug mode: reports a part of an array whose first element or rows don't lie at multiples of 16 bytes.
  void watch_aligned(std::string_view form, const Outer& outer);
  /// Runs `touch(indices of the array, coordinates in the tile)` for what lies in the array; `outside` for the rest.
  void each_inside(const Outer& outer, bool check, const std::function<void(Coords, Coords)>& touch,
                   const std::function<void(Coords)>& outside);
  ir::Value* is_inside(ir::Value* index, ir::Value* extent);
  void guarded(ir::Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise = {});
  void fill(const Window& w, ir::Value* value);
  ir::Value* one_of(const Type* type);

  // windows (tiles_window.cpp)
  Entity form_view(const std::vector<Argument>& args);
  Entity form_assign(const std::vector<Argument>& args);
  Entity form_extract(const std::vector<Argument>& args);
  Entity form_reshape(const std::vector<Argument>& args);
  Entity form_squeeze(const std::vector<Argument>& args);
  Entity form_transpose(const std::vector<Argument>& args);
  Entity form_broadcast(const std::vector<Argument>& args);
  Entity form_scatter(std::string_view name, const std::vector<Argument>& args);
  /// A window by what stands in brackets: slices keep a dimension, integers take it away; nothing after an error.
  Window part_of(const Window& w, std::span<const Entity> given, std::span<const syntax::Expr* const> nodes,
                 bool from_end);
  /// An index or offset of any width as int32: beyond its range it is the nearest, which is outside of any tile.
  ir::Value* narrowed(ir::Value* index);
  std::optional<Place> element_place(const Window& w, std::span<const Entity> indices,
                                     std::span<const syntax::Node* const> nodes);
  ir::Value* clamped_offset(const Window& w, std::size_t d, ir::Value* offset, std::int64_t length,
                            const syntax::Node& at, bool& ok);
  ir::Value* converted(ir::Value* value, const Type* to);
  bool can_convert(const Type* from, const Type* to) const;
  bool is_broadcast(const Window& w) const;

  // index tiles, threads' elements, queries (tiles_query.cpp)
  Entity form_query_next(std::string_view name, std::vector<Argument> args);
  Entity form_slice_indexed(const std::vector<Argument>& args);
  Entity form_element_inplace(std::string_view name, const std::vector<Argument>& args);
  /// What an index tile picks along an axis, in memory of its own; nothing after an error.
  Window gathered(const Window& w, const Window& indices, std::size_t axis, const syntax::Node& at);
  /// t[indices, :]; nothing if no index is a tile.
  std::optional<Place> indexed_place(const Window& w, const syntax::SubscriptExpr& expr, std::span<const Entity> given);
  ir::Value* as_index(const Entity& given, const syntax::Node& at);

  // elementwise and reductions (tiles_map.cpp)
  Entity form_map(const std::vector<Argument>& args);
  Entity form_astype(const std::vector<Argument>& args);
  Entity form_reduce(std::string_view name, const std::vector<Argument>& args);
  Entity form_arg_extreme(std::string_view name, const std::vector<Argument>& args);
  Entity form_dot(const std::vector<Argument>& args);
  Entity form_axpy(const std::vector<Argument>& args);
  Entity map(std::string_view form, const Entity& function, const std::vector<Entity>& args, const Window* into);
  Entity call_on(const Entity& function, std::vector<Entity> args);
  /// Sums and differences of structs: field by field; fields that can't be added are those of the first.
  ir::Value* by_fields(ir::OpCode code, ir::Value* a, ir::Value* b);
  static bool can_add(const Type* type) { return type->is_numeric() && type->scalar_kind() != ScalarKind::boolean; }
  using Combine = std::function<ir::Value*(ir::Value*, ir::Value*)>;
  Entity builtin(std::string_view name) const;

  // reductions (tiles_reduce.cpp)
  /// The tree of docs/design/tiles.md over the elements of a packed window; null after an error.
  /// What is known of a function: it may do more than join; it may be called for pairs that nobody asked for; and what it makes
  /// of a component hangs on that component alone.
  enum class Joins : std::uint8_t { as_asked, any_pair, components };
  ir::Value* reduced(const Window& w, const Combine& combine, Joins joins = Joins::as_asked);
  /// The tree of halves over elements of threads that are there.
  ir::Value* reduced_of_threads(const Window& w, const Combine& combine);
  Entity reduce(const Window& w, std::optional<std::int64_t> axis, const Combine& combine,
                Joins joins = Joins::any_pair);
  static constexpr std::int64_t kMostOfWarp = 1024;  // elements that a warp joins by itself
  bool reduces_by_warps(std::int64_t n, const Type* element) const;
  /// The same tree by the threads of a block; nothing after an error.
  Window reduced_by_warps(const Window& w, const Combine& combine, Joins joins);
  /// The way to a component of an element, by its number.
  struct Component {
    std::vector<ir::PathStep> path;
    std::vector<ir::Value*> at;
  };
  Component component_of(const Type* type, ir::Value* number);
  /// Warps share the components of the elements.
  bool reduce_components(const Window& w, const Window& made, const Combine& combine);
  /// So many elements, and how one is read.
  struct Elements {
    std::int64_t count;
    std::function<ir::Value*(ir::Value*)> read;
  };
  Elements elements_of(const Window& w);
  /// The elements i, i + stride, …, as far as the tree joins them; null after an error.
  ir::Value* joined_by_thread(const Elements& all, ir::Value* i, std::int64_t stride, const Combine& combine);
  /// All of them, by the threads of a warp, of which the first then has the result.
  ir::Value* joined_by_warp(const Elements& all, ir::Value* lane, const Combine& combine);
  /// What another thread of the warp has.
  ir::Value* from_lane(ir::Value* value, ir::Value* lane);
  /// What lies along an axis at coordinates of the others.
  Window slice_along(const Window& w, std::size_t along, Coords at);

  // algebra and algorithms by library functions (tiles_library.cpp)
  Entity form_matmul(const std::vector<Argument>& args);
  Entity form_cholesky(std::string_view name, const std::vector<Argument>& args);
  /// A square tile in memory of its own, with ones on the diagonal behind it up to a multiple of four, which change none of
  /// its results: blocks of four columns are quicker. Nothing where that is not needed or does not pay.
  Window padded_to_fours(const Window& square);
  Entity form_solve(std::string_view name, const std::vector<Argument>& args);
  Entity form_diag_add(const std::vector<Argument>& args);
  Entity form_scan(std::string_view name, const std::vector<Argument>& args);
  Entity form_sort(const std::vector<Argument>& args);
  Entity form_random(std::string_view name, const std::vector<Argument>& args);
  Entity form_stack(std::string_view name, const std::vector<Argument>& args);
  /// A push by all threads of a block.
  Entity push_all(ir::Value* data, ir::Value* count, ir::Value* value, ir::Value* wanted, std::int64_t capacity,
                  const std::function<void(ir::Value*)>& set);
  ir::Value* library_call(std::string_view name, std::vector<ir::Value*> args);
  /// The same by threads that need not meet for it.
  ir::Value* own_call(std::string_view name, std::vector<ir::Value*> args);
  /// data, offset and strides, as library functions take them.
  void pass(const Window& w, std::vector<ir::Value*>& args, bool swapped = false);
  /// Whether the kernel will be differentiated: elements of results are written once then, and nothing has to be remembered.
  bool writes_once() const;
  /// c += ±a b along rows; `fresh_out`: c has nothing yet.
  void multiply_rows(const Window& a, const Window& b, const Window& c, bool fresh_out, bool plus_sign);
  /// The same by the threads of a block: `values` are the operands as library functions take them.
  void multiply_shared(std::vector<ir::Value*>& values, const Shape& extents, ir::Value* alpha, ir::Value* beta,
                       bool fresh_out);
  /// c = ±a b, or added to c, by fragments (tiles_fragments.cpp); false where that is not for these shapes.
  bool multiply_fragments(Window a, Window b, const Window& c, bool fresh_out, bool plus_sign, bool tf32);
  /// An operand with zeros behind its rows and columns.
  Window with_zeros(const Window& w, std::int64_t rows, std::int64_t columns);
  /// A tile from an array by copies of 16 bytes; false where elements or rows are not for that.
  bool load_wide(const Window& made, const Outer& from, bool check);
  void solve_shared(std::vector<ir::Value*>& values, const Window& from, const Window& to, std::int64_t n,
                    std::int64_t columns, const std::function<void(const Window&)>& add);
  bool float_tile(std::string_view form, const Window& w, const syntax::Node& at, bool halves);

  // small factors and systems by one warp (tiles_warp.cpp)
  static constexpr std::int64_t kWarp = 32;
  /// A triangular system; `upper`: from the last row to the first.
  struct System {
    Window matrix;
    bool upper = false;
  };
  /// What a thread of the warp has: its row, and whether the numbers that it divided by and took roots of were tame.
  struct Row {
    ir::Value* thread = nullptr;
    ir::Value* number = nullptr;  // the thread's, or the last row's
    ir::Value* warp = nullptr;    // the threads that take part, as bits
    ir::Value* wild = nullptr;    // null: plain operations were taken
  };
  /// Whether one warp can have a thread for each of so many rows.
  bool fits_warp(std::int64_t n) const;
  /// Whether code of so many rows is loops. They run a tenth longer than code that is written out, but where each block is a warp there
  /// are more of them on a multiprocessor, which fill the time.
  bool goes_by_loops(std::int64_t n) const;
  /// Code of the block's first warp. Threads without a row take part.
  void by_rows(std::int64_t n, const std::function<void(Row&)>& body);
  ir::Value* number_of_warp();
  /// What threads with a row read, and zeros for the others: what they would read may be written meanwhile.
  std::vector<ir::Value*> in_row(std::int64_t n, std::int64_t count, const Type* type,
                                 const std::function<ir::Value*(std::int64_t)>& read);
  /// Runs `then` in the threads that have a row of their own, unless some thread's numbers were wild: then all run `otherwise`.
  void end_rows(std::int64_t n, const Row& row, const std::function<void()>& then,
                const std::function<void()>& otherwise);
  ir::Value* from_row(const Row& row, ir::Value* value, ir::Value* which);
  /// A loop that no pass and no assembler writes out; `body` puts what the next turn gets in the place of what it carries.
  std::vector<ir::Value*> rolled(ir::Value* turns, std::vector<ir::Value*> carried,
                                 const std::function<void(ir::Value*, std::vector<ir::Value*>&)>& body);
  /// Numbers that a row must not meet in operations on tame ones.
  void note_wild(Row& row, ir::Value* wild);
  ir::Value* tame(ir::OpCode code, std::initializer_list<ir::Value*> operands);
  bool has_tame(const Type* type) const;
  /// The Cholesky factor of what the lower triangle has, and zeros in the upper one; `to` may be `from`.
  void factor_by_rows(const Window& from, const Window& to);
  /// So many columns of it, behind so many panels of columns which are done.
  void factor_columns(const Window& from, const Window& to, Row row, ir::Value* before, std::int64_t panel,
                      std::int64_t width);
  /// The tile, or a copy of it in which threads that each have a row don't meet in a bank.
  Window apart(const Window& w);
  /// Such a copy stays good as long as nobody writes to the tile: a factor is mostly solved with right away (tiles_systems.cpp).
  void keep_long_rows(const Window& tile, const Window& rows);
  Window kept_long_rows(const Window& tile) const;
  /// How many columns at a time a larger factor or system is done by, the warp having the corner of each; 0: not so.
  std::int64_t panel_of(std::int64_t n) const;
  void factor_by_panels(const Window& w, std::int64_t panel);
  /// One right side in place.
  void solve_by_panels(const Window& x, const System& system, std::int64_t panel);
  /// The row's number of a system's solution, inside of by_rows.
  ir::Value* substitute_by_rows(Row& row, const System& system, ir::Value* side);
  /// One right side through one system after the other; `to` may be `from`.
  void solve_by_rows(const Window& from, const Window& to, std::span<const System> systems);
  /// Several right sides of few rows through a system, a thread for each, which keeps it in registers.
  static constexpr std::int64_t kMostInRegisters = 16;
  void solve_by_columns(const Window& from, const Window& to, const System& system);

  // Fourier transforms (tiles_fft.cpp)
  Entity form_fft(std::string_view name, const std::vector<Argument>& args);
  /// A pass: its factor, how many numbers the transforms behind it have, and where its roots stand in the table.
  struct Pass {
    std::int64_t radix, rest, stride;
    std::size_t turns = 0, roots = 0;  // of outputs; the radix-th roots of one, for odd factors
  };
  /// A table of the passes' roots: constants, or memory that is filled here if they would be too many.
  /// The transform by the threads of a block.
  void transform_shared(const Window& w, std::span<const Pass> passes, int sign);
  ir::Value* root_table(std::span<const Pass> passes, std::size_t size, const Type* scalar, int sign);

  // algebra that is one step to differentiation (tiles_steps.cpp)
  /// Whether an operation of so many turns is such a step; smaller ones are unrolled and derived term by term.
  bool is_step(std::int64_t turns) const { return threads_ == 1 && writes_once() && turns > kSmallStep; }
  static constexpr std::int64_t kSmallStep = 512;
  /// The tile in rows without gaps and in numbers of that type, in memory that holds nothing else: its own or a copy.
  Window alone(const Window& w, const Type* element);
  Entity cholesky_step(const Window& a, bool upper, bool inplace);
  /// Arguments of a triangular system as library functions take them; `is_upper`: from the last row to the first.
  void pass_system(const Window& w, std::vector<ir::Value*>& args, std::int64_t n, bool square, bool swapped,
                   bool is_upper);
  /// Runs `work` on memory without gaps, and brings the result back if `w` has some.
  void in_packed(const Window& w, const std::function<void(const Window&)>& work);

  FunctionLowering& f_;
  ir::Builder& b_;
  const syntax::Node& at_;
  const int threads_;            // of a block
  ir::Op* outermost_ = nullptr;  // of the loops that each() has open
  /// What a shared loop runs over, and its element's coordinates and number, which is that of the place in any tile without gaps.
  Shape shared_shape_;
  std::vector<ir::Value*> shared_at_;
  ir::Value* shared_number_ = nullptr;
  bool sharing_ = false;                   // inside of a loop that threads share: what is made there is a thread's own
  std::vector<ir::Value*> window_starts_;  // of it
};

}  // namespace weft::sema
