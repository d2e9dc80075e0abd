! sparsight from Fortran: interfaces by iso_c_binding, and a product with the 1D Laplacian.
!
!     gfortran fortran_iso_c_binding.f90 $(pkg-config --libs sparsight) -o laplacian
!
! Offsets and columns are counted from 0, as in C: of arrays that begin with 1, subtract 1 before.

module sparsight
    use, intrinsic :: iso_c_binding
    implicit none

    integer(c_int), parameter :: SS_OK = 0, SS_BAD_ARGUMENT = 1, SS_BAD_MATRIX = 2, SS_INFEASIBLE = 3, &
        SS_NO_PROFILE = 4, SS_NO_GPU = 5, SS_DEVICE = 6, SS_PANIC = 7
    integer(c_int), parameter :: SS_I32 = 1, SS_I64 = 2, SS_F32 = 3, SS_F64 = 4

    interface
        function ss_version() bind(c) result(text)
            import :: c_ptr
            type(c_ptr) :: text
        end function

        function ss_last_error() bind(c) result(text)
            import :: c_ptr
            type(c_ptr) :: text
        end function

        function ss_last_hint() bind(c) result(text)
            import :: c_ptr
            type(c_ptr) :: text
        end function

        ! name_or_path: a text that ends with c_null_char; profile: the handle
        function ss_profile_open(name_or_path, profile) bind(c) result(code)
            import :: c_char, c_int, c_ptr
            character(kind=c_char), intent(in) :: name_or_path(*)
            type(c_ptr), intent(out) :: profile
            integer(c_int) :: code
        end function

        subroutine ss_profile_free(profile) bind(c)
            import :: c_ptr
            type(c_ptr), value :: profile
        end subroutine

        function ss_device_open(name, device) bind(c) result(code)
            import :: c_char, c_int, c_ptr
            character(kind=c_char), intent(in) :: name(*)
            type(c_ptr), intent(out) :: device
            integer(c_int) :: code
        end function

        subroutine ss_device_free(device) bind(c)
            import :: c_ptr
            type(c_ptr), value :: device
        end subroutine

        function ss_plan_csr(profile, nrows, ncols, row_ptr, row_ptr_type, col_idx, col_idx_type, value_type, products, &
                plan) bind(c) result(code)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: profile, row_ptr, col_idx
            integer(c_int64_t), value :: nrows, ncols, products
            integer(c_int), value :: row_ptr_type, col_idx_type, value_type
            type(c_ptr), intent(out) :: plan
            integer(c_int) :: code
        end function

        function ss_plan_count(plan, count) bind(c) result(code)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: plan
            integer(c_int64_t), intent(out) :: count
            integer(c_int) :: code
        end function

        function ss_plan_id(plan, i, buf, n) bind(c) result(length)
            import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
            type(c_ptr), value :: plan
            integer(c_int64_t), value :: i
            character(kind=c_char), intent(out) :: buf(*)
            integer(c_size_t), value :: n
            integer(c_int) :: length
        end function

        function ss_plan_predicted_s(plan, i, time_s, low_s, high_s) bind(c) result(code)
            import :: c_double, c_int, c_int64_t, c_ptr
            type(c_ptr), value :: plan
            integer(c_int64_t), value :: i
            real(c_double), intent(out) :: time_s, low_s, high_s
            integer(c_int) :: code
        end function

        ! bytes: Fortran has no type without a sign; no matrix takes 2**63 bytes
        function ss_plan_memory_bytes(plan, i, bytes) bind(c) result(code)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: plan
            integer(c_int64_t), value :: i
            integer(c_int64_t), intent(out) :: bytes
            integer(c_int) :: code
        end function

        subroutine ss_plan_free(plan) bind(c)
            import :: c_ptr
            type(c_ptr), value :: plan
        end subroutine

        function ss_prepare(plan, i, device, values, op) bind(c) result(code)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: plan, device, values
            integer(c_int64_t), value :: i
            type(c_ptr), intent(out) :: op
            integer(c_int) :: code
        end function

        ! values: on the GPU, as x and y below
        function ss_update_values(op, values, stream) bind(c) result(code)
            import :: c_int, c_ptr
            type(c_ptr), value :: op, values, stream
            integer(c_int) :: code
        end function

        function ss_update_values_host(op, values) bind(c) result(code)
            import :: c_int, c_ptr
            type(c_ptr), value :: op, values
            integer(c_int) :: code
        end function

        ! x, y: on the GPU, of c_devptr or of c_loc in a target region; stream: c_null_ptr is the default one
        function ss_multiply(op, alpha, x, beta, y, stream) bind(c) result(code)
            import :: c_double, c_int, c_ptr
            type(c_ptr), value :: op, x, y, stream
            real(c_double), value :: alpha, beta
            integer(c_int) :: code
        end function

        function ss_multiply_host(op, alpha, x, beta, y) bind(c) result(code)
            import :: c_double, c_int, c_ptr
            type(c_ptr), value :: op, x, y
            real(c_double), value :: alpha, beta
            integer(c_int) :: code
        end function

        function ss_memory_bytes(op, bytes) bind(c) result(code)
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), value :: op
            integer(c_int64_t), intent(out) :: bytes
            integer(c_int) :: code
        end function

        subroutine ss_op_free(op) bind(c)
            import :: c_ptr
            type(c_ptr), value :: op
        end subroutine

        ! line to dots: texts that end with c_null_char, by c_loc, or c_null_ptr
        function ss_epilogue_prepare(op, line, vectors, scalars, outputs, dots, epilogue) bind(c) result(code)
            import :: c_int, c_ptr
            type(c_ptr), value :: op, line, vectors, scalars, outputs, dots
            type(c_ptr), intent(out) :: epilogue
            integer(c_int) :: code
        end function

        ! vectors, outputs, scalar_places: arrays of type(c_ptr), by c_loc
        function ss_epilogue_multiply(epilogue, x, y, vectors, outputs, scalars, scalar_places, dots, stream) &
                bind(c) result(code)
            import :: c_int, c_ptr
            type(c_ptr), value :: epilogue, x, y, vectors, outputs, scalars, scalar_places, dots, stream
            integer(c_int) :: code
        end function

        function ss_epilogue_multiply_host(epilogue, x, y, vectors, outputs, scalars, dots) bind(c) result(code)
            import :: c_int, c_ptr
            type(c_ptr), value :: epilogue, x, y, vectors, outputs, scalars, dots
            integer(c_int) :: code
        end function

        subroutine ss_epilogue_free(epilogue) bind(c)
            import :: c_ptr
            type(c_ptr), value :: epilogue
        end subroutine
    end interface

contains

    ! A text of C as one of Fortran.
    function text_of(from) result(text)
        type(c_ptr), intent(in) :: from
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        integer :: n, i
        call c_f_pointer(from, letters, [100000])
        n = 0
        do while (letters(n + 1) /= c_null_char)
            n = n + 1
        end do
        allocate(character(len=n) :: text)
        do i = 1, n
            text(i:i) = letters(i)
        end do
    end function

    ! Says what went wrong, and gives up.
    subroutine check(code)
        integer(c_int), intent(in) :: code
        if (code == SS_OK) return
        print '(a, i0, 5a)', 'code ', code, ': ', text_of(ss_last_error()), ' (', text_of(ss_last_hint()), ')'
        error stop 1
    end subroutine
end module

program laplacian
    use sparsight
    implicit none
    integer, parameter :: n = 1000
    integer(c_int32_t), target :: row_ptr(n + 1), col_idx(3 * n)
    real(c_double), target :: values(3 * n), x(n), y(n)
    character(kind=c_char) :: id(80)
    type(c_ptr) :: profile, device, plan, op
    integer(c_int64_t) :: i, count
    integer(c_int) :: code
    integer :: row, nnz, length

    nnz = 0
    row_ptr(1) = 0
    do row = 1, n
        if (row > 1) call add(row - 1, -1.0_c_double)
        call add(row, 2.0_c_double)
        if (row < n) call add(row + 1, -1.0_c_double)
        row_ptr(row + 1) = nnz
    end do

    call check(ss_profile_open('cpu' // c_null_char, profile))
    call check(ss_plan_csr(profile, int(n, c_int64_t), int(n, c_int64_t), c_loc(row_ptr), SS_I32, c_loc(col_idx), SS_I32, &
        SS_F64, 1000_c_int64_t, plan))
    call ss_profile_free(profile)
    call check(ss_plan_count(plan, count))
    call check(ss_device_open('cpu' // c_null_char, device))

    ! The first candidate for which there is the memory.
    do i = 0, count - 1
        code = ss_prepare(plan, i, device, c_loc(values), op)
        if (code /= SS_INFEASIBLE) exit
    end do
    call check(code)
    length = ss_plan_id(plan, i, id, size(id, kind=c_size_t))
    call ss_plan_free(plan)
    call ss_device_free(device)

    x = 1
    call check(ss_multiply_host(op, 1.0_c_double, c_loc(x), 0.0_c_double, c_loc(y)))
    call ss_op_free(op)
    print '(*(a))', 'sparsight ', text_of(ss_version()), ': ', id(1:length)
    if (any(y(2:n - 1) /= 0) .or. y(1) /= 1 .or. y(n) /= 1) error stop 'y is wrong'
    print '(a)', 'y is right'

contains

    ! An entry of the row, by a column that is counted from 1.
    subroutine add(column, value)
        integer, intent(in) :: column
        real(c_double), intent(in) :: value
        nnz = nnz + 1
        col_idx(nnz) = column - 1
        values(nnz) = value
    end subroutine
end program
