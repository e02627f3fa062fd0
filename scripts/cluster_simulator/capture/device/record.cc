/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "record.h"

#include "device.h"
#include "pytorch.h"
#include "storage.h"

#include <ATen/Context.h>
#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <Python.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <set>
#include <unistd.h>
#include <unordered_map>

namespace capture
{

namespace
{

std::mutex g_fileLock;
FILE* g_file = nullptr;
std::string g_folder;
std::string g_backwardLine;
std::mutex g_backwardLock;
std::atomic<uint64_t> g_operators{0};
std::atomic<int64_t> g_threads{0};

thread_local int64_t t_thread = -1;
thread_local int t_partOfAnother = 0;
thread_local int t_nodes = 0;           ///< autograd nodes that run, one in another
thread_local bool t_ofAutograd = false; ///< a thread of autograd's, which does nothing else
thread_local int64_t t_node = -1;       ///< sequence number of the innermost; -1: it has none
thread_local int t_inOptimizer = 0;
thread_local int64_t t_optimizer = -1; ///< number of the one that steps; -1: not known
std::atomic<bool> g_measures{false};
thread_local int t_ownWork = 0;
thread_local double t_programSince = 0; ///< CPU time at which the thread went on as the program
thread_local double t_programUs = 0;    ///< not told yet
thread_local std::vector<std::string> t_modules;

/// Time in which the thread itself ran: one that waits for another's backward does not work.
double
ThreadUs()
{
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

int64_t
ThreadNumber()
{
    if (t_thread < 0)
    {
        t_thread = g_threads++;
    }
    return t_thread;
}

void
AppendText(std::string& out, const std::string& text)
{
    out += '"';
    for (const char c : text)
    {
        if (c == '"' || c == '\\')
        {
            out += '\\';
            out += c;
        }
        else if (static_cast<unsigned char>(c) < 0x20)
        {
            char code[8];
            snprintf(code, sizeof code, "\\u%04x", c);
            out += code;
        }
        else
        {
            out += c;
        }
    }
    out += '"';
}

void
AppendNumbers(std::string& out, c10::ArrayRef<int64_t> numbers)
{
    out += '[';
    for (size_t i = 0; i < numbers.size(); ++i)
    {
        out += i > 0 ? "," : "";
        out += std::to_string(numbers[i]);
    }
    out += ']';
}

const char*
TypeName(at::ScalarType type)
{
    switch (type)
    {
    case at::kDouble:
        return "f64";
    case at::kFloat:
        return "f32";
    case at::kHalf:
        return "f16";
    case at::kBFloat16:
        return "bf16";
    case at::kLong:
        return "i64";
    case at::kInt:
        return "i32";
    case at::kShort:
        return "i16";
    case at::kChar:
        return "i8";
    case at::kByte:
        return "u8";
    case at::kBool:
        return "bool";
#if CAPTURE_PYTORCH_2
    case at::kFloat8_e4m3fn:
    case at::kFloat8_e5m2:
        return "f8";
#endif
    default:
        return at::toString(type);
    }
}

/// {"T": [type, sizes, storage (-1: on the host), bytes of an element, device (absent: 0)],
///  "f": its first element in the storage (absent: 0)}
void
AppendTensor(std::string& out, const at::Tensor& tensor)
{
    if (!tensor.defined())
    {
        out += "null";
        return;
    }
    out += "{\"T\":[\"";
    out += TypeName(tensor.scalar_type());
    out += "\",";
    AppendNumbers(out, tensor.sizes());
    out += ',';
    out += std::to_string(tensor.is_cuda() ? static_cast<int64_t>(InfoOf(tensor).id) : -1);
    out += ',';
    out += std::to_string(tensor.itemsize());
    if (tensor.is_cuda() && tensor.get_device() > 0)
    {
        out += ',';
        out += std::to_string(tensor.get_device());
    }
    out += ']';
    if (tensor.is_cuda() && tensor.storage_offset() > 0)
    {
        out += ",\"f\":";
        out += std::to_string(tensor.storage_offset());
    }
    out += '}';
}

void
AppendValue(std::string& out, const c10::IValue& value)
{
    if (value.isTensor())
    {
        AppendTensor(out, value.toTensor());
    }
    else if (value.isBool())
    {
        out += value.toBool() ? "true" : "false";
    }
    else if (value.isInt())
    {
        out += std::to_string(value.toInt());
    }
    else if (value.isDouble() && std::isfinite(value.toDouble()))
    {
        char text[40];
        snprintf(text, sizeof text, "%.17g", value.toDouble());
        out += text;
    }
    else if (value.isString())
    {
        AppendText(out, value.toStringRef());
    }
    else if (value.isList())
    {
        out += '[';
        bool first = true;
        for (const c10::IValue& item : value.toListRef())
        {
            out += first ? "" : ",";
            first = false;
            AppendValue(out, item);
        }
        out += ']';
    }
    else
    {
        out += "null";
    }
}

/// Whether a convolution has all channels of a place together: its input or its weights have, and
/// then what it makes has (ATen/native/ConvUtils.h, cudnn_conv_suggest_memory_format).
bool
IsChannelsLast(c10::ArrayRef<c10::IValue> arguments)
{
    return std::any_of(arguments.begin(), arguments.end(), [](const c10::IValue& value) {
        return value.isTensor() && value.toTensor().defined() && value.toTensor().dim() > 3 &&
               value.toTensor().suggest_memory_format() != at::MemoryFormat::Contiguous;
    });
}

/// What is behind a node (DDP's buckets) is issued by autograd's threads as well.
bool
OfAutograd()
{
    return t_nodes > 0 || t_ofAutograd;
}

/// The frames' line of this thread, which holds the interpreter's lock.
std::string
LineOfFrames()
{
    // Code objects live as long as the process: each is kept.
    static std::unordered_map<PyObject*, std::string> files;
    std::string line;
    PyFrameObject* frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    while (frame != nullptr && line.empty())
    {
        PyCodeObject* code = PyFrame_GetCode(frame);
        auto known = files.find(reinterpret_cast<PyObject*>(code));
        if (known == files.end())
        {
            const char* name = PyUnicode_AsUTF8(code->co_filename);
            Py_INCREF(code);
            known = files.emplace(reinterpret_cast<PyObject*>(code), ToldFile(name ? name : "<?>"))
                        .first;
        }
        if (!known->second.empty())
        {
            line = known->second + ":" + std::to_string(PyFrame_GetLineNumber(frame));
        }
        Py_DECREF(code);
        PyFrameObject* caller = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = caller;
    }
    Py_XDECREF(frame);
    return line;
}

/// Of this thread's own frames; "": it has none, or none of the script.
std::string
OwnLine()
{
    std::string line;
    if (Py_IsInitialized() && PyGILState_GetThisThreadState() != nullptr)
    {
        const PyGILState_STATE state = PyGILState_Ensure();
        line = LineOfFrames();
        PyGILState_Release(state);
    }
    return line;
}

/// Autograd's own threads have no frames: where the script called backward.
std::string
BackwardLine()
{
    const std::lock_guard<std::mutex> lock(g_backwardLock);
    return g_backwardLine;
}

} // namespace

// ---- a line

Line::Line(const char* type)
    : m_text("{\"t\":\"")
{
    m_text += type;
    m_text += '"';
}

void
Line::Key(const char* key)
{
    m_text += ",\"";
    m_text += key;
    m_text += "\":";
}

Line&
Line::Add(const char* key, const std::string& text)
{
    Key(key);
    AppendText(m_text, text);
    return *this;
}

Line&
Line::Add(const char* key, int64_t value)
{
    Key(key);
    m_text += std::to_string(value);
    return *this;
}

Line&
Line::Add(const char* key, const std::vector<int64_t>& values)
{
    Key(key);
    AppendNumbers(m_text, values);
    return *this;
}

Line&
Line::Add(const char* key, const std::vector<at::Tensor>& tensors)
{
    Key(key);
    m_text += '[';
    for (size_t i = 0; i < tensors.size(); ++i)
    {
        m_text += i > 0 ? "," : "";
        AppendTensor(m_text, tensors[i]);
    }
    m_text += ']';
    return *this;
}

Line&
Line::Add(const char* key, c10::ArrayRef<c10::IValue> values)
{
    Key(key);
    m_text += '[';
    for (size_t i = 0; i < values.size(); ++i)
    {
        m_text += i > 0 ? "," : "";
        AppendValue(m_text, values[i]);
    }
    m_text += ']';
    return *this;
}

Line&
Line::AddPlace()
{
    Add("d", CurrentDevice()).Add("s", CurrentStream()).Add("th", ThreadNumber());
    std::string line = OwnLine();
    if (OfAutograd())
    {
        Add("b", t_node);
        if (line.empty())
        {
            line = BackwardLine();
        }
        else if (t_ofAutograd)
        {
            Add("own", static_cast<int64_t>(1)); // the script's backward, not PyTorch's
        }
    }
    if (t_inOptimizer > 0)
    {
        Add("p", std::string("optimizer"));
    }
    if (g_measures && t_programUs > 0)
    {
        Add("us", static_cast<int64_t>(t_programUs + 0.5));
        t_programUs = 0;
    }
    if (!line.empty())
    {
        Add("l", line);
    }
    if (!t_modules.empty() && !t_modules.back().empty())
    {
        Add("m", t_modules.back());
    }
    return *this;
}

void
Line::Write()
{
    const std::lock_guard<std::mutex> lock(g_fileLock);
    if (g_file != nullptr)
    {
        m_text += "}\n";
        fwrite(m_text.data(), 1, m_text.size(), g_file);
    }
}

// ---- the record

void
OpenRecord(const std::string& path)
{
    const std::lock_guard<std::mutex> lock(g_fileLock);
    if (g_file != nullptr)
    {
        fclose(g_file);
        g_file = nullptr;
    }
    if (!path.empty())
    {
        g_file = fopen(path.c_str(), "we");
        TORCH_CHECK(g_file != nullptr, path, ": cannot be written");
        setvbuf(g_file, nullptr, _IOFBF, 1 << 20);
    }
}

void
FlushRecord()
{
    const std::lock_guard<std::mutex> lock(g_fileLock);
    if (g_file != nullptr)
    {
        fflush(g_file);
    }
}

void
LockRecord()
{
    g_fileLock.lock();
}

void
UnlockRecord()
{
    g_fileLock.unlock();
}

void
ForgetRecord()
{
    // What the parent has not yet written is not to be written twice, so nothing is closed.
    g_file = nullptr;
    g_fileLock.unlock();
}

bool
Recording()
{
    return g_file != nullptr && t_partOfAnother == 0;
}

void
MeasureProgram()
{
    g_measures = true;
}

OwnWork::OwnWork()
    : m_outermost(g_measures && t_ownWork++ == 0)
{
    if (m_outermost)
    {
        t_programUs += std::max(0.0, ThreadUs() - t_programSince);
    }
}

OwnWork::~OwnWork()
{
    if (g_measures && --t_ownWork == 0)
    {
        t_programSince = ThreadUs();
    }
}

PartOfAnother::PartOfAnother()
{
    ++t_partOfAnother;
}

PartOfAnother::~PartOfAnother()
{
    --t_partOfAnother;
}

void
RecordOperator(const c10::OperatorName& name,
               c10::ArrayRef<c10::IValue> arguments,
               const Written& written,
               c10::ArrayRef<c10::IValue> results,
               const char* how)
{
    ++g_operators;
    {
        const std::lock_guard<std::mutex> lock(MemoryLock());
        Streams().Give(StreamKey(CurrentDevice(), CurrentStream()));
    }
    if (!Recording())
    {
        return;
    }
    std::string told = name.name;
    if (!name.overload_name.empty())
    {
        told += "." + name.overload_name;
    }
    Line line("op");
    line.Add("n", told).AddPlace().Add("q", static_cast<int64_t>(at::sequence_number::peek()));
    // 1: products of fp32 may be those of TF32; 2: those of cuDNN
    const int64_t tf32 = (at::globalContext().allowTF32CuBLAS() ? 1 : 0) +
                         (at::globalContext().allowTF32CuDNN() ? 2 : 0);
    if (tf32 > 0)
    {
        line.Add("tf32", tf32);
    }
    if (!written.arguments.empty())
    {
        line.Add("w", written.arguments);
    }
    if (!written.places.empty())
    {
        line.Add("x", written.places);
    }
    if (name.name.find("convolution") != std::string::npos && IsChannelsLast(arguments))
    {
        line.Add("last", int64_t{1});
    }
    line.Add("a", arguments).Add("o", results).Add("h", std::string(how)).Write();
}

std::string
ToldFile(const std::string& file)
{
    for (const char* library :
         {"dist-packages/", "site-packages/", "/cluster_simulator/capture/", "<frozen"})
    {
        if (file.find(library) != std::string::npos)
        {
            return "";
        }
    }
    if (file.rfind("/usr/lib/python3", 0) == 0 || file.rfind("<", 0) == 0)
    {
        return "";
    }
    if (!g_folder.empty() && file.rfind(g_folder, 0) == 0)
    {
        return file.substr(g_folder.size());
    }
    return file.substr(file.rfind('/') + 1);
}

std::string
SourceLine()
{
    std::string line = OwnLine();
    return line.empty() && OfAutograd() ? BackwardLine() : line;
}

std::string
ToldLine()
{
    const std::string line = SourceLine();
    return line.empty() ? "a place that is no line of the script" : line;
}

void
Note(const std::string& text)
{
    static std::mutex lock;
    static std::set<std::string> said;
    {
        const std::lock_guard<std::mutex> guard(lock);
        if (!said.insert(text).second)
        {
            return;
        }
    }
    Line("note").Add("text", text).Write();
}

void
NoteAssumed(const char* what)
{
    Note(std::string(what) + " at " + ToldLine() +
         " depends on choices that only a GPU could make (largest entries, an order, a lot): they "
         "are taken to be spread evenly");
}

void
EnterModule(const std::string& path)
{
    t_modules.push_back(path);
}

void
LeaveModule()
{
    if (!t_modules.empty())
    {
        t_modules.pop_back();
    }
}

void
SetBackwardLine(const std::string& line)
{
    const std::lock_guard<std::mutex> lock(g_backwardLock);
    g_backwardLine = line;
}

void
SetScriptFolder(const std::string& folder)
{
    g_folder = folder;
}

namespace
{

/// What a thread was in before, for when a node or an optimizer's step ends.
struct Before : at::ObserverContext
{
    int64_t node = -1;
    bool optimizer = false;
};

std::unique_ptr<at::ObserverContext>
EnterNode(const at::RecordFunction& function)
{
    auto before = std::make_unique<Before>();
    before->node = t_node;
    t_node = function.seqNr();
    ++t_nodes;
    t_ofAutograd = t_ofAutograd || gettid() != getpid();
    return before;
}

void
LeaveNode(const at::RecordFunction&, at::ObserverContext* before)
{
    t_node = static_cast<Before*>(before)->node;
    --t_nodes;
}

/// PyTorch puts "Optimizer.step#SGD.step" around every step.
std::unique_ptr<at::ObserverContext>
EnterScope(const at::RecordFunction& function)
{
    auto before = std::make_unique<Before>();
    before->optimizer = std::string(function.name()).rfind("Optimizer.step#", 0) == 0;
    t_inOptimizer += before->optimizer ? 1 : 0;
    return before;
}

void
LeaveScope(const at::RecordFunction& function, at::ObserverContext* before)
{
    if (static_cast<Before*>(before)->optimizer && --t_inOptimizer == 0)
    {
        // "SGD.step": with it a step may end.
        const std::string name = function.name();
        const int64_t memory = [] {
            const std::lock_guard<std::mutex> lock(MemoryLock());
            return static_cast<int64_t>(MemoryOf(CurrentDevice()).allocated.current);
        }();
        Line("step")
            .Add("n", name.substr(name.find('#') + 1))
            .Add("o", t_optimizer)
            .AddPlace()
            .Add("memory", memory)
            .Write();
    }
}

} // namespace

void
SetOptimizer(int64_t number)
{
    t_optimizer = number;
}

void
WatchPasses()
{
    at::addGlobalCallback(at::RecordFunctionCallback(&EnterNode, &LeaveNode)
                              .scopes({at::RecordScope::BACKWARD_FUNCTION}));
    at::addGlobalCallback(
        at::RecordFunctionCallback(&EnterScope, &LeaveScope).scopes({at::RecordScope::USER_SCOPE}));
}

uint64_t
OperatorsSeen()
{
    return g_operators;
}

} // namespace capture
