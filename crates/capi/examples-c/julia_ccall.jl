# sparsight from Julia, by @ccall: no package is needed.
#
#     julia julia_ccall.jl                                          # libsparsight of the system
#     SPARSIGHT_LIBRARY=target/release/libsparsight_c.so julia julia_ccall.jl
#
# Julia has matrices in CSC, counted from 1. The CSC of A is the CSR of its transpose, so the transpose of A is given here, and
# 1 is subtracted.
#
# On a GPU, with CUDA.jl, the operator prepared on "cuda:0" and x, y of CuArray{Float64}: an address of the GPU is a CuPtr, which no
# array of the host becomes by mistake. It is queued in the stream of the task, in which what CUDA.jl does with y afterwards stands.
#
#     GC.@preserve op check(@ccall LIBRARY.ss_multiply(
#         op.handle::Ptr{Cvoid}, 1.0::Cdouble, x::CuPtr{Float64}, 0.0::Cdouble, y::CuPtr{Float64},
#         CUDA.stream()::CUDA.CUstream)::Cint)

using SparseArrays

const LIBRARY = get(ENV, "SPARSIGHT_LIBRARY", "libsparsight")

const SS_OK, SS_INFEASIBLE = 0, 3
const SS_I64, SS_F64 = 2, 4

function check(code)
    code == SS_OK && return
    text = unsafe_string(@ccall LIBRARY.ss_last_error()::Cstring)
    hint = unsafe_string(@ccall LIBRARY.ss_last_hint()::Cstring)
    error("sparsight: code $code: $text ($hint)")
end

"A matrix on a device; freed when the last reference to it is gone."
mutable struct Operator
    handle::Ptr{Cvoid}
    id::String
    rows::Int
    columns::Int
    function Operator(handle, id, rows, columns)
        op = new(handle, id, rows, columns)
        finalizer(op -> (@ccall LIBRARY.ss_op_free(op.handle::Ptr{Cvoid})::Cvoid), op)
    end
end

"The best candidate for so many products that runs on the device."
function prepare(a::SparseMatrixCSC{Float64,Int64}; device = "cpu", profile = device, products = 1000)
    rows, columns = size(a)
    transposed = sparse(transpose(a))
    row_ptr, col_idx, values = transposed.colptr .- 1, transposed.rowval .- 1, transposed.nzval
    open_profile, plan = Ref{Ptr{Cvoid}}(C_NULL), Ref{Ptr{Cvoid}}(C_NULL)
    open_device, op = Ref{Ptr{Cvoid}}(C_NULL), Ref{Ptr{Cvoid}}(C_NULL)
    try
        check(@ccall LIBRARY.ss_profile_open(profile::Cstring, open_profile::Ref{Ptr{Cvoid}})::Cint)
        check(@ccall LIBRARY.ss_plan_csr(
            open_profile[]::Ptr{Cvoid}, rows::Int64, columns::Int64, row_ptr::Ptr{Int64}, SS_I64::Cint,
            col_idx::Ptr{Int64}, SS_I64::Cint, SS_F64::Cint, products::Int64, plan::Ref{Ptr{Cvoid}})::Cint)
        check(@ccall LIBRARY.ss_device_open(device::Cstring, open_device::Ref{Ptr{Cvoid}})::Cint)
        count = Ref{Int64}(0)
        check(@ccall LIBRARY.ss_plan_count(plan[]::Ptr{Cvoid}, count::Ref{Int64})::Cint)
        for i in 0:count[]-1
            code = @ccall LIBRARY.ss_prepare(
                plan[]::Ptr{Cvoid}, i::Int64, open_device[]::Ptr{Cvoid}, values::Ptr{Float64}, op::Ref{Ptr{Cvoid}})::Cint
            # For some there may be no memory.
            code == SS_INFEASIBLE && i < count[] - 1 && continue
            check(code)
            id = Vector{UInt8}(undef, 80)
            length = @ccall LIBRARY.ss_plan_id(plan[]::Ptr{Cvoid}, i::Int64, id::Ptr{UInt8}, 80::Csize_t)::Cint
            return Operator(op[], String(id[1:length]), rows, columns)
        end
    finally
        @ccall LIBRARY.ss_plan_free(plan[]::Ptr{Cvoid})::Cvoid
        @ccall LIBRARY.ss_profile_free(open_profile[]::Ptr{Cvoid})::Cvoid
        @ccall LIBRARY.ss_device_free(open_device[]::Ptr{Cvoid})::Cvoid
    end
end

"y = alpha A x + beta y"
function multiply!(y::Vector{Float64}, op::Operator, x::Vector{Float64}, alpha = 1.0, beta = 0.0)
    (length(y), length(x)) == (op.rows, op.columns) || throw(DimensionMismatch("x or y"))
    # The finalizer must not free the handle meanwhile.
    GC.@preserve op check(@ccall LIBRARY.ss_multiply_host(
        op.handle::Ptr{Cvoid}, alpha::Cdouble, x::Ptr{Float64}, beta::Cdouble, y::Ptr{Float64})::Cint)
    return y
end

a = sprand(1000, 800, 0.01)
op = prepare(a)
x = rand(800)
y = multiply!(zeros(1000), op, x)
@assert y ≈ a * x
println(op.id, ": y is right")
