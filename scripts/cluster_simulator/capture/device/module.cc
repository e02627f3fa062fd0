/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What ../inside/ calls.
 */
#include "attention-choice.h"
#include "device.h"
#include "host-kernels.h"
#include "patience.h"
#include "process-group.h"
#include "pytorch.h"
#include "record.h"
#include "storage.h"

#include <array>
#include <pthread.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/pybind.h>

namespace
{

using namespace capture;

int
DeviceOr(int device)
{
    return device < 0 ? CurrentDevice() : device;
}

/// In the order in which they are taken elsewhere: a thread that holds one waits for nothing here.
void
BeforeFork()
{
    MemoryLock().lock();
    LockRecord();
}

void
AfterForkInParent()
{
    UnlockRecord();
    MemoryLock().unlock();
}

void
AfterForkInChild()
{
    ForgetRecord();
    MemoryLock().unlock();
    ForbidAfterUse();
}

void
Start(int devices, uint64_t memoryBytes, int capability)
{
    SetDevices(devices, memoryBytes);
    StartStorage();
    InstallHostKernels();
    InstallAttentionChoice(capability);
    WatchPasses();
    pthread_atfork(&BeforeFork, &AfterForkInParent, &AfterForkInChild);
}

py::dict
LevelDictionary(const Level& level)
{
    py::dict told;
    told["current"] = level.current;
    told["peak"] = level.peak;
    told["allocated"] = level.added;
    told["freed"] = level.added - level.current;
    return told;
}

py::dict
Memory(int device)
{
    // First all numbers: a dictionary that is made may let Python collect what is garbage, and with
    // it tensors, whose memory needs the lock.
    const int which = DeviceOr(device);
    std::unique_lock<std::mutex> lock(MemoryLock());
    const CachingAllocator& memory = MemoryOf(which);
    const std::array<std::pair<const char*, Level>, 6> levels = {{
        {"allocated_bytes", memory.allocated},
        {"reserved_bytes", memory.reserved},
        {"active_bytes", memory.active},
        {"active", memory.activeBlocks},
        {"allocation", memory.blocks},
        {"segment", memory.segments},
    }};
    const auto retries = memory.retries;
    const auto failures = memory.failures;
    const auto capacity = memory.Capacity();
    lock.unlock();
    py::dict told;
    for (const auto& [name, level] : levels)
    {
        told[name] = LevelDictionary(level);
    }
    told["num_alloc_retries"] = retries;
    told["num_ooms"] = failures;
    told["capacity"] = capacity;
    return told;
}

/// The allocator by itself, for tests: what a list of requests leaves. A positive number allocates
/// so many bytes, a negative one -i frees what request i (from 1) got, 0 empties the cache.
py::list
MemoryAfter(uint64_t capacity, const std::vector<int64_t>& requests)
{
    StreamOrder order;
    CachingAllocator memory(capacity, 0, order);
    std::vector<CachingAllocator::Block*> got;
    py::list states;
    for (const int64_t request : requests)
    {
        if (request > 0)
        {
            got.push_back(memory.Allocate(static_cast<uint64_t>(request), 0));
        }
        else if (request == 0)
        {
            memory.EmptyCache();
        }
        else if (CachingAllocator::Block*& block = got.at(static_cast<size_t>(-request) - 1);
                 block != nullptr)
        {
            memory.Free(block);
            block = nullptr;
        }
        states.append(py::make_tuple(memory.allocated.current,
                                     memory.reserved.current,
                                     memory.segments.current,
                                     memory.failures));
    }
    return states;
}

/// One kernel of a library (cuDNN's, FlashAttention) that PyTorch 1.13 on the CPU has no operator
/// for: tensors of these sizes and types, whose values nobody knows, are what it makes.
std::vector<at::Tensor>
Fused(const std::string& name,
      const std::vector<c10::optional<at::Tensor>>& inputs,
      const std::vector<std::pair<std::vector<int64_t>, py::object>>& outputs,
      const std::vector<int64_t>& numbers)
{
    c10::impl::GenericList told(c10::AnyType::get());
    at::Tensor beside;
    for (const auto& input : inputs)
    {
        told.push_back(input ? c10::IValue(*input) : c10::IValue());
        beside = !beside.defined() && input && input->is_cuda() ? *input : beside;
    }
    TORCH_CHECK(beside.defined(), name, ": no tensor of a GPU");
    std::vector<at::Tensor> made;
    for (const auto& [sizes, type] : outputs)
    {
        made.push_back(Result(sizes, reinterpret_cast<THPDtype*>(type.ptr())->scalar_type, beside));
    }
    std::vector<c10::IValue> results(made.begin(), made.end());
    const std::vector<c10::IValue> arguments{c10::IValue(told), c10::IValue(numbers)};
    RecordOperator(c10::OperatorName(name, ""), arguments, {}, results, "fused");
    return made;
}

} // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)
{
    m.def("start", &Start);
    m.def("open_record", &OpenRecord);
    m.def("flush_record", &FlushRecord);
    m.def("measure_program", &MeasureProgram);
    m.def("set_script_folder", &SetScriptFolder);
    m.def("set_exchange", [](bool all, const std::string& ended, double patience) {
        SetExchange({all, ended, patience});
    });
    py::class_<Patience>(m, "Patience")
        .def(py::init<double, std::string>())
        .def("is_over", &Patience::IsOver);
    m.def("operators_seen", &OperatorsSeen);

    m.def("device_count", &DeviceCount);
    m.def("check_device", &CheckDevice);
    m.def("begin_process", &BeginProcess);
    m.def("use_gpus", &UseGpus);
    m.def("is_in_bad_fork", &IsInBadFork);
    m.def("set_device", [](int device) {
        if (device >= 0)
        {
            UseGpus();
            SetDevice(device);
        }
    });
    m.def("current_device", &CurrentDevice);
    m.def("current_stream", [](int device) {
        return Packed(StreamOf(DeviceOr(device), CurrentStreamOf(DeviceOr(device))));
    });
    m.def("default_stream", [](int device) { return Packed(StreamOf(DeviceOr(device), 0)); });
    m.def("new_stream", [] { return Packed(NewStream(CurrentDevice())); });
    m.def("set_stream", [](uint64_t packed) { SetStream(Unpacked(packed)); });
    m.def("stream_number", [](uint64_t packed) { return Unpacked(packed).id(); });
    m.def("stream_device",
          [](uint64_t packed) { return static_cast<int>(Unpacked(packed).device_index()); });
    m.def("fused", &Fused);
    m.def("new_event", &NewEvent);
    m.def("record_event", [](int64_t event, uint64_t packed) {
        const c10::Stream stream = Unpacked(packed);
        Line("record")
            .Add("e", event)
            .Add("d", stream.device_index())
            .Add("s", stream.id())
            .Write();
        const std::lock_guard<std::mutex> lock(MemoryLock());
        Streams().Record(event, StreamKey(stream.device_index(), stream.id()));
    });
    m.def("wait_event", [](int64_t event, uint64_t packed) {
        const c10::Stream stream = Unpacked(packed);
        Line("wait").Add("e", event).Add("d", stream.device_index()).Add("s", stream.id()).Write();
        const std::lock_guard<std::mutex> lock(MemoryLock());
        Streams().Wait(event, StreamKey(stream.device_index(), stream.id()));
    });
    m.def("synchronize", [](int device) {
        Line("sync").Add("d", DeviceOr(device)).Add("l", SourceLine()).Write();
        ProgramWaitsForDevice(DeviceOr(device));
    });
    m.def("synchronize_stream", [](uint64_t packed) {
        const c10::Stream stream = Unpacked(packed);
        Line("sync")
            .Add("d", stream.device_index())
            .Add("s", stream.id())
            .Add("l", SourceLine())
            .Write();
        ProgramWaits(stream.device_index(), stream.id());
    });
    m.def("synchronize_event", [](int64_t event) {
        Line("sync").Add("e", event).Add("l", SourceLine()).Write();
        const std::lock_guard<std::mutex> lock(MemoryLock());
        Streams().ProgramWaitsForEvent(event);
    });
    m.def("end_step", &EndStep);

    m.def("memory", &Memory);
    m.def("memory_after", &MemoryAfter);
    m.def("empty_cache", [] {
        const std::lock_guard<std::mutex> lock(MemoryLock());
        MemoryOf(CurrentDevice()).EmptyCache();
    });
    m.def("set_memory_fraction", [](double fraction, int device) {
        const std::lock_guard<std::mutex> lock(MemoryLock());
        CachingAllocator& memory = MemoryOf(DeviceOr(device));
        memory.Allow(static_cast<uint64_t>(fraction * static_cast<double>(memory.Capacity())));
    });
    m.def("reset_peaks", [](int device) {
        const std::lock_guard<std::mutex> lock(MemoryLock());
        MemoryOf(DeviceOr(device)).ResetPeaks();
    });
    m.def("set_generators", [](const py::list& generators) {
        std::vector<at::Generator> taken;
        for (const py::handle& one : generators)
        {
            TORCH_CHECK(THPGenerator_Check(one.ptr()), "generators are torch.Generators");
            taken.push_back(reinterpret_cast<THPGenerator*>(one.ptr())->cdata);
        }
        SetGenerators(std::move(taken));
    });
    m.def("resize_storage",
          [](const at::Tensor& tensor, size_t bytes) { ResizeStorage(tensor, bytes, true); });

    m.def("is_known", &HasValue);
    m.def("set_optimizer", &SetOptimizer);
    m.def("source_line", &SourceLine);
    m.def("note", &Note);
    m.def("enter_module", &EnterModule);
    m.def("leave_module", &LeaveModule);
    m.def("set_backward_line", &SetBackwardLine);
    m.def("told_file", &ToldFile);
    // A line that Python made, of words; it is told from where, or from where this is called.
    using Words = std::map<std::string, std::string>;
    m.def("mark_at", [](const std::string& type, const Words& words, const std::string& line) {
        Line written(type.c_str());
        for (const auto& [key, value] : words)
        {
            written.Add(key.c_str(), value);
        }
        written.Add("l", line).Write();
    });
    m.def("mark", [](const std::string& type, const Words& words) {
        Line written(type.c_str());
        for (const auto& [key, value] : words)
        {
            written.Add(key.c_str(), value);
        }
        written.Add("l", SourceLine()).Write();
    });
    m.def("mark_place", [](const std::string& type, const Words& words) {
        Line written(type.c_str());
        for (const auto& [key, value] : words)
        {
            written.Add(key.c_str(), value);
        }
        written.AddPlace().Write();
    });
    m.def("group", [](int64_t number, const std::vector<int64_t>& ranks, const std::string& line) {
        Line("group").Add("g", number).Add("ranks", ranks).Add("l", line).Write();
    });

    using Group = py::class_<SimulatedNccl, GroupBase, c10::intrusive_ptr<SimulatedNccl>>;
    Group group(m, "ProcessGroupNCCL");
    py::class_<SimulatedNccl::Options,
               GroupBase::Options,
               c10::intrusive_ptr<SimulatedNccl::Options>>(group, "Options")
        .def(py::init([](bool highPriority) {
                 return c10::make_intrusive<SimulatedNccl::Options>(highPriority);
             }),
             py::arg("is_high_priority_stream") = false)
        .def_readwrite("is_high_priority_stream", &SimulatedNccl::Options::is_high_priority_stream)
#if CAPTURE_PYTORCH_2
        .def_readwrite("global_ranks_in_group", &SimulatedNccl::Options::global_ranks_in_group)
        .def_readwrite("group_name", &SimulatedNccl::Options::group_name)
#endif
        ;
    group
        .def(py::init([](const c10::intrusive_ptr<c10d::Store>& store,
                         int rank,
                         int size,
                         const py::object&) {
            return c10::make_intrusive<SimulatedNccl>(store, rank, size);
        }))
        .def("set_ranks", &SimulatedNccl::SetRanks)
        .def_property_readonly("number", &SimulatedNccl::Number)
        .def_static("_group_start", [] {})
        .def_static("_group_end", [] {});
}
